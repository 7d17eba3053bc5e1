// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package store keeps spans and profiles of a program in memory,
// bounded in bytes, and joins them by id: which samples belong to a span, and
// how much CPU time it took.
//
// # Filling it
//
// A [Store] has two inputs that know nothing of each other. As an
// [exporter.Exporter] it takes profiles from the profiler; as a span processor,
// which [Store.SpanProcessor] returns, it takes the summaries of spans from a
// tracer provider:
//
//	s, err := store.New(store.WithMaxBytes(32 << 20))
//	if err != nil {
//		return err
//	}
//	tp.RegisterSpanProcessor(s.SpanProcessor())
//	err = s.Export(ctx, profile) // The profiler does this.
//
// Recorded are local roots, which are spans without a parent in this process, and
// spans with the attribute pyroscope.profile.id; and all sampled spans while the process
// has a provider of package spanprof in all-spans scope with WithoutProfileIDAttribute. The
// work of any other span is in the profile of its local root. Several services may
// share a store.
//
// # Which request it was
//
// A span keeps the attributes of the semantic conventions that tell one request from
// another: http.route, url.path, url.query, http.response.status_code, db.query.text,
// db.operation.name, rpc.method, messaging.destination.name, graphql.document, error.type
// and others of this kind, in the spelling of v1.37 and in older ones such as http.target; and of
// the first exception event the type and the message. [WithSpanAttributes] adds keys,
// [WithoutSpanAttributes] leaves all out. Those of a child that is not recorded itself
// are with the nearest span above it that is. A value has 1024 bytes at most, those of
// one span together 2048, and those of its children as many. REDACTED replaces
// credentials in them and in the description of a status, and ? the literals of database
// statements and of GraphQL. README lists what is and is not hidden.
//
// Contains and Attributes of a [SpanQuery] search them, Matchers of a [Query] whose label
// begins with "span." select samples by them, and AttributeTotals of an [Attributed] view
// sums by them. Where every span has a profile of its own, Requests of a SpanQuery lists
// each request once.
//
// # What is kept
//
// Of the spans, the newest are kept. Others outlive them: of each name the
// slowest, those with most CPU time ([WithSpansPerName]) and an example of each
// latency; the newest errors, and of each type of error the last ones with samples.
// The samples of these outlive the profiles they came in, so that the
// slowest span of the week opens with its flame graph. Where they take too much,
// those of least worth go first: the twentieth of its name before the first, and
// those of names without new spans before others. A name that comes once has no
// place of its own for long. To reach further back,
// [WithMinDuration] keeps slow spans only, and [WithSampling] those of a part of
// the traces. What is not kept counts all the same: NameTotals of a view is about
// all spans that ended in the time of the profiles held.
//
// # After a crash or a deploy
//
// With [WithDirectory] a store also writes what it takes in to files, and the next process
// begins with what earlier ones have left: as much as there is room for, the newest first,
// and of older windows the samples of the slowest spans and of the others that outlive the newest.
// These spans and windows name their process in the field Earlier. A process that is killed
// loses what came after its last window; when in a span its samples were taken is not in the files.
//
// Each process has a subdirectory of its own, with files that any tool reads: profiles
// in the pprof format, spans as lines of JSON, both gzipped, whose checksums tell what is
// damaged. A damaged file is renamed to end in .damaged; one of a version that this program
// does not know keeps its name, for the program that does. Both are counted and reported, and make
// room as all files do, the oldest first. Files have mode 0600, directories 0700. They hold what the page
// shows: span names and attributes too.
//
// A window of the recorded service below takes 72 kB and 12 ms of CPU time on a goroutine of
// its own, 0.12 % of a core with windows of 10 seconds; four hours of it take 100 MB.
// At the start a goroutine reads them, 9 ms of CPU time for each window that there is room
// for; meanwhile the store works, and Restoring in [DirectoryStats] is true
// (go test -bench Directory). [OpenDirectory] reads a directory without changing it, as
// spanprof view does.
//
// # The join
//
// Samples carry the pprof labels profile_id and span_id, each with a span's id
// in 16 hex digits; trace_id with 32; and span_name. A sample belongs to the
// spans that its profile_id and its span_id name. It counts once for a span
// that both name, and once in totals where they name two.
//
// A profile_id may be any text. Where it is not the id of a span, that is where
// no span_id has that value and no such span was recorded, Spans lists
// it as a manual exemplar: work that a program labelled with
// [runtime/pprof.Do], without a tracer. Local roots are known from their start,
// so that one that runs is never taken for an exemplar. A span whose samples are
// there but whose summary is not, because it is a child that has not ended, was
// evicted, or came from another tracer provider, is not listed; Span
// finds it by its id.
//
// Where every span has a profile of its own, CPU is what a span took itself and
// CPUInclusive adds what its descendants in this process took. Where only local
// roots have profiles, these have the work of their descendants in CPU already,
// and both are the same.
//
// What goroutines of a span do after its end is not the span's: its samples have the
// label ended_span_id with the id of the span, beside the labels that held before it.
// CPUAfterEnd of a span is their CPU time in the profiles held; nothing else of the span
// has a part in it.
//
// # Asking
//
// Queries are asked of a [View], which [Store.View] opens. All answers of a view are
// about one moment, so that they agree with each other whatever comes and goes
// meanwhile. Spans lists spans, the newest, the slowest or those with most CPU time
// first; NameTotals sums them by name. A span without samples used
// little CPU only if its Coverage is CoverageWhole: where CPU was not profiled,
// or where the profiles made room for newer ones, it may have used any.
// Select sums samples by stack, for a flame graph; Profile
// returns the same samples in the pprof format, with labels, those of many spans
// best without the ids; Timeline sums them by window and name. They take a
// [Query]: all samples of one span are
//
//	view, err := s.View(ctx)
//	if err != nil {
//		return err
//	}
//	defer view.Close()
//	m, err := store.NewMatcher("span_id", store.MatchEqual, id)
//	if err != nil {
//		return err
//	}
//	selection, err := view.Select(store.Query{
//		Kind:     exporter.KindCPU,
//		Matchers: []store.Matcher{m},
//	})
//
// and those of one version of a service match on service_version, which like
// service_name is the resource's where samples have no such label. Kinds
// says which kinds of profiles have samples for the matchers. Windows
// lists the profiles held. Of a [Live] view, such as a store's, Log tells what
// happened to the newest windows, Stats counts what came and what was lost, and
// Generation tells a client that polls whether anything is new. [Store.Stats] needs
// no view. CPUTimes of a [Timed] view, such as a store's, tells when in the time of a
// span its CPU samples were taken, where the profiles know it. ExactTimes of an [Exact] view
// tells where the time of a span went, where AddExactTimes has brought it from an execution
// trace, as package exectrace does.
//
// [Source] and [View] are interfaces, so that what shows a store can show profile
// files or a profile server too.
//
// Queries copy references, or some records at a time, under a short lock and work
// on data that does not change from then on: a slow query delays neither the
// profiler nor the spans. Start and end of a span write to bounded rings on the request
// path, without waiting for queries, and allocate nothing. What was written is taken into
// the store on another goroutine, or by the next reader before it reads; where spans end
// faster than that, by the span that finds its ring full. There, attributes that no other
// span has cost two allocations for the copy (go test -bench Span).
//
// # What queries and windows cost
//
// In a store of 64 MiB, in CPU time and in memory that is allocated, the page's JSON included
// (go run ./internal/integration/storecosts):
//
//	a list of 100 spans, out of 60,000                      3 ms   0.6 MB
//	a list of more than 10,000 spans                        refused
//	a flame graph of 4.2 million samples in 2,096 windows   0.15 s  52 MB
//	the same samples in the pprof format                    0.25 s  26 MB
//	10,000 of them in the pprof format, with ids            0.02 s   7 MB
//	an expression of 40 characters on 800,000 ids           refused
//	a window of 100,000 samples                             0.2 s   20 MB
//	the same, where 13,020 of 62,000 idle windows make room 0.2 s   25 MB
//
// What is refused says in its error what is too much, and what to ask instead. A list does not
// wait for a flame graph of the whole process, and equal questions to the page are answered once
// until the store changes.
//
// # Limits
//
// Spans take at most a quarter of the bytes, profiles and the log the rest; the
// oldest make room for the newest. Samples that are kept for longer than their
// profiles take at most a quarter of what profiles take, with the stacks and labels
// that nothing else has; of a simulated week in 64 MiB, all of the 3 slowest and 3
// hungriest spans of 20 names and of the last errors are held
// (go run ./internal/integration/storeweek). What is lost when more comes at once than
// there is room for is counted in [Stats], and [Span] has it in Loss. Where there is no room,
// heap, mutex and block profiles together take another quarter: they are of no
// span, and make room for each other.
//
// The default store holds 69,000 spans of 160 bytes. Attributes that several spans
// have in common are kept once; where each request has a path of its own it holds
// 56,000, and 32,000 where each has a query of 200 bytes.
//
// Code, stacks and labels are kept once for all profiles that have them. Those of
// a recorded HTTP service with 60 routes take 1.5 MB, and each of its samples 34
// bytes more on average; two thirds of them are each in a span of its own, which
// is the dearest case. In two hours, that is 670,000 samples in 24 MB, a sample
// takes 36 bytes all in all, and 38 with the time at which it was taken
// (go test -bench BytesPerSample). Of a window, 65,536 times are kept at most, beside
// one for each different sample. So the default store
// reaches back 4.0 hours with CPU profiles of 10 seconds alone. With as many heap
// profiles it is 3.0 hours, of which heap reaches back 40 minutes if it has 1,000
// allocation sites, a quarter of an hour if it has 3,000 (go test -bench Reach).
//
// The bytes are counted, not measured, and meet what the heap holds within 15 %
// (go test -tags live -run TestSoak, and -soak 2m for a store of 64 MiB). What a query
// returns, what open views keep, and a profile that is being parsed, come on top.
//
// # For the next developer
//
// A profile comes by Store.Export (store.go). tables.build makes a window of it
// (window.go): internal/samples keeps the samples and their labels, code.go the stacks
// and the code, once for all windows. A window never changes. index.go holds the
// windows and picks the next one to evict; kept.go has the parts of windows that are
// kept for single spans.
//
// A span comes by Store.SpanProcessor to the span log. Store.Export adds the samples
// of a window to the spans' records there, and takes them off when the window goes.
//
// A query reads a moment (view.go): windows by reference, and a view of the span
// log. span.go, spanquery.go and spans.go answer about spans, requests.go about those
// below others; names.go sums them by name, with the manual exemplars, attributetotal.go
// by attribute. query.go finds the samples of a Query for selection.go, profile.go and
// timeline.go; inventory.go tells what is held.
//
// Rooms, none of which imports this package:
//   - internal/spanlog has the records of spans, makes room for them, keeps what is worth
//     keeping of each name, counts by name, joins samples, and lets views read the
//     past;
//   - internal/samples has the samples of a window, in groups with labels in common, and
//     when they were taken;
//   - internal/filter finds the groups that meet the conditions of a query, and
//     internal/literal the values that an expression lists;
//   - internal/journal has the files of a directory; directory.go writes them and
//     restore.go reads them, both in one goroutine, without the locks that queries or
//     spans take while a file is read or written;
//   - internal/attributes has the attributes to keep;
//   - internal/intern has one copy of equal values, internal/memory counts bytes;
//   - internal/cputime knows when CPU was profiled, internal/ident has ids and the
//     names of services.
package store
