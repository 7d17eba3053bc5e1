// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pyroscope sends profiles to Grafana Pyroscope, to Grafana Cloud
// Profiles, or to what stands in for them, as Alloy's pyroscope.receive_http
// does.
//
//	exp, err := pyroscope.New("http://pyroscope:4040")
//	p, err := profiler.New(exp, profiler.WithResource(res))
//
// The Exporter is a queue, whose worker parses each profile to see whether it must be
// split, and whether its ids can be queried. See [exporter.Queue] for what it bounds, retries and
// counts, and WithQueue for its options. What waits in a spill directory is dropped after
// an hour, since the server refuses older profiles by default: exporter.WithSpillMaxAge
// is for one that is told otherwise.
//
// # Names
//
// The application is service.name of the Resource, so that the link from a span
// in Grafana finds its profile. Other attributes become tags, with underscores
// for dots: deployment.environment.name, k8s.pod.name and whatever else is there,
// except those that say nothing about where to look (telemetry.*, process.*, os.*)
// or that would make a series of every start (service.instance.id, host.id,
// container.id, k8s.pod.uid). Of two attributes that get the same name the first
// is sent; service_name and what begins with two underscores is the server's, and
// left out. [WithTags] adds more.
//
// A series has 30 labels at most on the server, six of which are its own or kept for
// it: the other 24 are for tags and for the labels of samples together, and one more
// would have it refuse the whole profile. [WithTags] comes first, then span_name and
// the other labels of samples by their names, then attributes by theirs. The rest is
// left out. Room that the labels of samples have taken once stays theirs, so that a
// series does not change from window to window. Values are cut to 2,048 bytes, and
// what the server does not take in a name becomes an underscore. The first of each
// is reported through otel.Handle. A dot in the name of a sample's label becomes an
// underscore too, as in tags: the server would store it, and hide the label from
// clients that do not ask for names of all of UTF-8.
//
// Profile types have the names that pyroscope-go v1.4.3 gives them, so that
// dashboards go on working: process_cpu, memory, mutex, block, goroutines. Wall
// time, which pyroscope-go does not have, is wall. A program should not push with
// both: every sample would count twice.
//
// # Spans
//
// Pyroscope finds the samples of a span by the labels span_id and profile_id,
// which must be 16 hex digits, and of a trace by trace_id. A profile_id of another
// form, which the store and its viewer understand, cannot be queried there: the
// Exporter reports the first one through otel.Handle. Where profile_id and span_id
// of a sample differ, Pyroscope keeps one of them. Every other label, span_name
// too, becomes a series label there, but for ended_span_id, the span after whose end a
// sample was taken: it is left out, as each span would make a series of its own. Pyroscope
// has no place for the times of samples either.
//
// # Wire
//
// Profiles go to /ingest, as those of pyroscope-go do: every server back to 0.x
// has it, and proxies and gateways that let pyroscope-go through let this through.
// push.v1 would put labels into a message and failures into exact codes; /ingest
// has a grammar of names without escapes, where the characters , and } of a tag's
// value become underscores, and answers 422 for what it will never take and for
// trouble of its own alike, which the exporter tells apart by the text (server
// v2.2.1, pkg/ingester/pyroscope/ingest_handler.go).
//
// Profiles of more than 16,000 samples or nearly 2 MiB uncompressed, which is what
// a server with its defaults takes at once, are split into several, one millisecond
// apart: Pyroscope takes two profiles of one series and one time for the same
// (pkg/block/section_profiles.go). The first one that is split is reported.
//
// # Answers
//
//	2xx                                   taken; rejected if it is a page for people
//	429, 422 with resource_exhausted      refused for now: sent again
//	408, 5xx, 422 of a part that is away  sent again; the server may have the profile
//	no connection                         sent again
//	no answer, or half of one             sent again; the server may have the profile
//	any other                             rejected: dropped, and reported with the
//	                                      server's text
//
// A proxy gives a page where it wants people to log in. It may also have passed on what
// it answers with 408, which therefore leaves a doubt. What the server repeats of the
// credentials of a request is left out of what is reported.
//
// Where the server has a profile already, the push of it once more counts twice in
// queries, until the server has compacted the blocks that both are in, about a minute
// later by its defaults: only then is one of them left. Duplicates of [exporter.LaneStatus] is the sign: it counts the profiles to
// which that may have happened.
package pyroscope
