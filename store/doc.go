// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package store keeps spans and profiles of a program in memory, bounded in bytes, and joins
// them by id: which samples belong to a span, and how much CPU time it took.
//
// # Filling it
//
// A [Store] has two inputs that are independent. As an [exporter.Exporter] it receives
// profiles from the profiler. As a span processor, which [Store.SpanProcessor] returns, it
// receives spans from a tracer provider.
//
// Local roots, which are spans without a parent in this process, are recorded. So are spans
// with a profile of their own: see [Store.SpanProcessor]. Other spans, at most 64 of a trace,
// are a part of the span above them. Several services may share a store. A profile without a
// service is of the service of the spans.
//
// Spans are recorded soon after their end. If 32,768 wait, the newest are dropped and counted in
// [Stats].
//
// # Attributes
//
// A span keeps the attributes of the semantic conventions that distinguish requests:
// http.route, url.path, url.query, http.response.status_code, db.query.text, rpc.method,
// messaging.destination.name, error.type and others. Older spellings than v1.37 are kept
// too. It keeps the type and the message of the first exception event too.
// [WithSpanAttributes] adds keys, [WithoutSpanAttributes] leaves all out. A value has 1024
// bytes at most, all of one span 2048. REDACTED replaces credentials in them and in the
// description of a status, and ? the literals of database statements and of GraphQL. The file
// docs/privacy.md lists what is hidden.
//
// # What is kept
//
// A store consists of 4 to 16 segments. A segment is a stretch of time with its profiles and
// the spans that ended in it. The oldest segment is evicted as a whole. Spans take a quarter
// of a segment at most, and more while the store is nearly empty. Beyond it, spans without
// samples, error or rank are dropped first, and still count in [NameTotal]. Heap, mutex and
// block profiles take another quarter.
//
// Some spans outlive their segment, with their samples. These are, of each name, the ten
// slowest of each latency band and the ten with the most CPU time. The last three errors of
// each status stay too. The bands end at 1 ms, 4 ms, 16 ms and so on. These spans take a quarter of
// the bytes at most. Beyond it, names that were seen longest ago are dropped first, and of a
// name the lowest bands. Such spans answer questions about spans, ids and attributes. They
// are in no sum over all samples. [WithSampling] keeps the spans of a part of the traces.
//
// With [WithDirectory] a store also writes its data to files, and the next process starts with
// them.
//
// # The join
//
// Samples have the pprof labels profile_id and span_id, each with a span's id in 16 hex
// digits. The label trace_id has 32, and span_name the name. A sample belongs to the spans that
// its profile_id and its span_id name. It counts once for a span that both name.
//
// A profile_id may be any text. If it is not the id of a span, [View] lists it as a manual
// exemplar: work that a program labelled with runtime/pprof.Do, without a tracer. A
// [SpanQuery] finds a span without a record by its ID, but a list needs Sampled for it.
//
// If every span has a profile, CPU is the time of a span alone. CPUInclusive adds the time of
// its descendants in this process. If only local roots have profiles, both are the
// same. Goroutines of a span that work after its end have samples with the label
// ended_span_id. CPUAfterEnd is their CPU time. It includes samples that begin more than
// two windows after the end.
//
// # Asking
//
// [Store.View] opens a [View]. All answers of a view are about one moment, and so they
// agree with each other. A span without samples used little CPU only if its [Coverage] is
// CoverageWhole. The example shows spans and the samples of one.
//
// [Source] and [View] are interfaces, so that profile files or a profile server can be shown
// too. Few queries run at a time, the others wait; a query for one span does not.
package store
