// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package convert turns profiles into the messages of OTLP's profiles signal
// (v1development) and back. The exporters of [OTLP/HTTP] and [OTLP/gRPC] stand
// on it, and so does whoever receives profiles, from an eBPF agent, say.
//
// # What becomes of a pprof profile
//
// One [exporter.Profile] becomes one request, with one resource and one scope.
// OTLP has one sample type in a profile, so that pprof's heap profile becomes
// four profiles, which share their stacks. A CPU profile as Go makes it has two
// columns of which the second is the first times the period: only samples/count
// is sent, unless [WithCPUTime] asks for both, because a backend that derives
// the time from the period would count it twice.
//
// The labels trace_id and span_id become a Link, which is what ties a sample to
// its span in OTLP; [WithSpanIDs] has the other choices. All other labels become
// attributes of the sample under their own names.
//
// When samples were taken is sent if [WithSampleTimestamps] asks for it, and the profile
// knows it.
//
// pprof does not say which language a frame is of. profile.frame.type is go for
// functions of .go files and Go's assembly, kernel for the mappings of the kernel,
// native for frames that have an address alone, and of other languages by the name
// of the source file; it is left out where that does not tell.
//
// What pprof holds and OTLP has no field for, like comments or the order of the
// sample types, travels in the attributes that OpenTelemetry's semantic
// conventions have for it (the namespace pprof). Two facts have none there and
// stand in attributes of the scope: spanprof.profile.kind is the profile's kind,
// and spanprof.link.profile_id says that every Link also stands for the label
// profile_id, whose value is the span's id.
//
// # What is lost
//
// [Profiles] gives back what [Converter.Request] was given, but for this:
//   - mappings, locations and functions that no sample refers to;
//   - the label ended_span_id, the span after whose end a sample was taken, unless
//     [WithSpanIDs] sends ids as attributes: Pyroscope would make a series of each;
//   - the ids of the tables, which are numbered anew;
//   - bytes that are not UTF-8, which protobuf refuses: U+FFFD stands in their
//     place, and labels whose keys become the same by it are one;
//   - the lack of a period type: the first sample type takes its place;
//   - the times within pprof, where the profile's window has a start: its times
//     are sent.
//
// # For developers
//
// encoder.go walks a profile and dictionary.go collects what it meets;
// labels.go decides between Links and attributes. decoder.go and
// profiledecoder.go are the way back.
//
// [OTLP/HTTP]: https://pkg.go.dev/github.com/spanprof/spanprof/exporter/otlp
// [OTLP/gRPC]: https://pkg.go.dev/github.com/spanprof/spanprof/exporter/otlp/otlpgrpc
package convert
