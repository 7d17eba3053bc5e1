// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package convert encodes profiles as messages of OTLP's profiles signal
// (v1development), for the exporters of OTLP/HTTP and OTLP/gRPC. [Warnings] reads their answers.
//
// # The message of a pprof profile
//
// One [exporter.Profile] becomes one request, with one resource and one scope. The package comment
// of the exporter otlp describes it. In Go's CPU profiles the second column is the first times the
// period: a backend that derives the time from the period would count it twice.
//
// profile.frame.type is not in pprof. It is native for functions of C's files and frames with
// only an address, and go for all others. The attribute spanprof.profile.kind of the scope is the profile's kind.
//
// # What is lost
//
//   - mappings, locations and functions without samples;
//   - the label ended_span_id, unless ids are attributes too;
//   - the ids of the tables, which are numbered again;
//   - bytes that are not UTF-8, which protobuf refuses: they become U+FFFD;
//   - further values of a label, comments, and the order of the sample types;
//   - the lack of a period type: the first sample type takes its place;
//   - the times within pprof, if the profile's window has a start.
//
// encoder.go walks a profile and fills the tables of dictionary.go. labels.go decides
// between Links and attributes.
package convert
