// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package spanprof gives every OpenTelemetry span of a Go program a profile of
// its own: it wraps a TracerProvider and labels, by runtime/pprof's goroutine
// labels, what runs under a span. CPU and goroutine profiles then carry the ids
// of spans, whoever takes them.
//
//	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter)))
//	otel.SetTracerProvider(tp)
//
// This package sets labels and attributes and does no more. To take profiles:
//
//   - package inprocess samples in this process, keeps the newest spans with
//     their profiles in memory and shows them on a page: no server needed;
//   - packages profiler and exporter are its parts, for destinations of your
//     own;
//   - a profiler that you have already, pyroscope-go or a scraper of
//     /debug/pprof, sees the labels as it is.
//
// # Labels and attributes
//
//	label       value
//	profile_id  the local root's span id, 16 hex digits
//	span_id     the same
//	span_name   the local root's name, bounded in length and number
//	trace_id    32 hex digits
//
// A local root is a span without a parent in this process. In all-spans scope,
// WithRootSpanOnly(false), every span has labels of its own. Only sampled spans are
// labelled, see [WithUnsampledSpanNames].
//
// A span whose own id is among the labels gets the attribute
// pyroscope.profile.id. With [WithPyroscopeURL], [WithProfileURL] and
// [WithProfileBaselineURL] it also gets pyroscope.profile.url, which opens its
// profile, pyroscope.profile.baseline.url, which opens it beside the sum of
// all profiles that share its labels except for the ids, and
// pyroscope.profile.diff.url for the difference of the two. [WithGrafanaProfileURL]
// and [WithProfileURLBuilder] make the first URL another tool's.
//
// # What stays as it was
//
// The spans are the wrapped provider's: ids, sampling, links, events and child
// counts are as without spanprof, and its attributes take none of the room that
// the program's own have; spans of the SDK can still be asserted
// to sdktrace.ReadOnlySpan and ReadWriteSpan; a panic in a function that defers
// span.End() is recorded and goes on. Spans made from a span's TracerProvider
// are labelled too. SetName changes the label.
//
// The user's own labels, in the context or on the goroutine, stay beside
// spanprof's. End puts back what the goroutine carried, and only if it still
// carries the span's labels: a span that ends on another goroutine leaves that
// one alone, spans that end out of order neither take a live span's labels away
// nor bring an ended one's back.
//
// For that spanprof reads and writes labels by two functions that the Go runtime
// promises to keep, and verifies at the start how runtime/pprof stores labels. Where a
// new Go has changed that, and with the build tag spanprof_public, it uses
// runtime/pprof's public API alone, which cannot read labels: see
// [WithPublicLabelsOnly] for what is weaker then. otel.Handle hears of it, and
// [TracerProvider.PublicLabelsOnly] tells.
//
// # What no wrapper can do
//
//   - Where a span ends on another goroutine than it started on, the first keeps
//     the labels until a span that is open around it there ends. A local root that
//     ends there does not take them off while a descendant is open on yet another
//     goroutine, which may carry them. The self-check of package inprocess counts most of
//     such ends.
//   - Samples carry the name that the span had when they were taken.
//     Instrumentations that rename a span when its work is done, as otelhttp does
//     after a ServeMux has found the route, leave the first name on all samples,
//     and a baseline by the last name finds none: wrap each route, or set the
//     name before the work.
//   - A goroutine that is started within a span inherits its labels for good, as
//     runtime/pprof has it, even after the span, until a span of its own ends
//     there; [Go] starts one with the labels of a context alone, for as long as it
//     runs.
//   - A goroutine that was there before, a worker of a pool, carries a span's
//     labels only while a span that was started on it is open. Start one there,
//     with the job's context, or use [Do].
//   - A span that is not sampled is the wrapped provider's own, so its
//     TracerProvider method returns that one: what an instrumentation starts from
//     it is not labelled, even if a sampler lets it be sampled.
//   - pprof.Do puts the labels of its context back when it returns. A span that
//     ends within a pprof.Do that has the span's context comes back by it: End
//     spans outside of it.
//   - A local root that ends on the goroutine that it started on takes its labels and
//     those of all its descendants off it: of those that are open the program may have
//     forgotten the End. What a descendant does on that goroutine afterwards has no
//     labels of its own; its End does what it does without spanprof, and leaves the
//     goroutine's labels alone. The same holds for the first span of a local root on a
//     worker. Spans of other local roots, with trace.WithNewRoot say, keep their labels
//     until they end.
//   - Spans that a program never ends, local roots among them, are remembered on their
//     goroutine: 256 of them at most, some 80 kB. Of spans that nest deeper on one
//     goroutine, the outer ones do not get their labels back.
//
// # Tracebacks
//
// Where go.mod of the main module says go 1.27 or later, tracebacks show the labels of
// goroutines: those of a crash that is not recovered, of runtime.Stack and debug.Stack, and of
// the goroutine profile with debug=2.
//
//	goroutine 1 [running] {profile_id: 00f067aa0ba902b7, span_id: 00f067aa0ba902b7, span_name: "GET /users", trace_id: ...}:
//
// So a crash tells which request it was in, and logs of crashes have the names of
// spans. To keep them out, run the program with GODEBUG=tracebacklabels=0, or put
// "godebug tracebacklabels=0" into go.mod or "//go:debug tracebacklabels=0" into package
// main; tracebacklabels=1 shows them with an earlier go line and a toolchain of 1.27. A
// panic that passes a deferred End has taken that span's labels off by then.
//
// # Cost
//
// A labelled local root costs four allocations and some hundred nanoseconds, of
// which the attribute takes two and about 40 %; its descendants in root scope cost
// one allocation. A span that is not sampled costs next to nothing. Spans take no
// lock, but for the first of each name. Profiles grow by 20 to 40 bytes a sample,
// compressed.
package spanprof
