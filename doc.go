// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package spanprof gives every OpenTelemetry span of a Go program a profile of
// its own: it wraps a TracerProvider and labels, by runtime/pprof's goroutine
// labels, what runs under a span. CPU and goroutine profiles then carry the ids
// of spans in every profiler.
//
//	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithBatcher(spanExporter)))
//	otel.SetTracerProvider(tp)
//
// This package sets labels and attributes and does no more. To take profiles:
//
//   - package inprocess samples in this process, keeps the newest spans with their profiles
//     in memory and shows them on a page: no server needed;
//   - packages profiler and exporter are its parts, for destinations of your own;
//   - a profiler that you have already, such as pyroscope-go, sees the labels unchanged.
//
// # Labels and attributes
//
//	label       value
//	profile_id  the local root's span id, 16 hex digits
//	span_id     the same
//	span_name   the local root's name, bounded in length and number
//	trace_id    32 hex digits
//
// A local root is a span without a parent in this process. A sampled span below a local root
// that is not sampled is one too. In all-spans scope, WithRootSpanOnly(false), every span
// has labels of its own. Only sampled spans are labelled, see [WithUnsampledSpanNames].
//
// A span with its own id among the labels gets the attribute pyroscope.profile.id. Options
// add three more:
//
//	pyroscope.profile.url           opens the span's profile: WithPyroscopeURL and WithProfileURL
//	pyroscope.profile.baseline.url  opens it beside the sum of all profiles with the same
//	                                labels except the ids: WithProfileBaselineURL
//	pyroscope.profile.diff.url      opens the difference of the two: the same option
//
// [WithGrafanaProfileURL] and [WithProfileURLBuilder] make the first URL another tool's.
//
// # Switching off
//
// OTEL_SDK_DISABLED=true or SPANPROF_DISABLED=true in the environment switch everything off.
// With [WithOptIn] everything is off unless the environment has SPANPROF_ENABLED=true.
//
// # What stays unchanged
//
// The spans are the wrapped provider's. Ids, sampling, links, events and child counts do not
// change, and the attributes above never displace the program's own. Spans of the SDK can
// still be asserted to sdktrace.ReadOnlySpan and ReadWriteSpan. A panic in a function that
// defers span.End() is recorded and continues. Spans made from a span's TracerProvider
// are labelled too. SetName changes the label.
//
// The user's own labels, in the context or on the goroutine, stay beside spanprof's. When a
// span ends, its goroutine gets the labels of the last span before it there that is open.
// Without one only the user's stay. So spans may end in any order and on any goroutine, with
// the exceptions below.
//
// For that spanprof reads and writes labels by two functions that the Go runtime promises to
// keep. At the start it verifies how runtime/pprof stores labels. If that is unexpected, and
// with the build tag spanprof_public, it uses only runtime/pprof's public API. So it does on
// processors other than 386, amd64 and arm64. That API cannot read labels. End then restores the labels of the closest parent span that is open.
// SetName shows in spans that start later. otel.Handle reports an unexpected runtime.
//
// # What no wrapper can do
//
//   - If a span ends on another goroutine than it started on, the first goroutine keeps
//     the labels until another span starts or ends there. Its samples after the end do not
//     count for the span.
//   - Samples carry the span's name at the time of the sample. Some instrumentations
//     rename a span after its work, as otelhttp does once a ServeMux has found the route.
//     A baseline by the last name then finds no samples. Wrap each route, or set the name
//     before the work.
//   - A goroutine that is started within a span inherits its labels from the runtime, and
//     keeps them after the span; inprocess shows that CPU time apart. Work that [Go] or [Do]
//     runs with the span's context counts for the span, even after its end.
//   - A copy of a span's labels, by pprof.Do or pprof.WithLabels, counts for the span until
//     other labels replace it: on goroutines started there also after the span. End removes the
//     span's values from a copy on its goroutine. Without ids, by
//     [WithUnsampledSpanNames], a copy's span_name stays.
//   - A worker of a pool carries a span's labels only while a span that started on it is
//     open. Start one there with the job's context, or use [Do]. Its End also takes off the
//     labels of spans below it that were started there and never ended.
//   - A span that is not sampled is the wrapped provider's own, and so is its
//     TracerProvider. Spans that an instrumentation starts from that are not labelled.
//   - Pass the span's context to pprof.Do: labels made of another context replace the span's.
//     Do not end the span inside: pprof.Do puts its context's labels back when it returns.
//   - A local root that ends on its own goroutine also ends the labels of its open
//     descendants there: the program may have forgotten their End. Spans of other local
//     roots keep theirs.
//   - A goroutine remembers at most 256 spans that never end, some 100 kB. Of spans
//     that nest deeper on one goroutine, the outer ones do not get their labels back.
//
// # Cost
//
// A labelled local root costs three allocations, a descendant in root scope one. Spans take no
// lock, except for the first of each name. docs/costs.md has the times.
package spanprof
