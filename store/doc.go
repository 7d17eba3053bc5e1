// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package store keeps the newest spans and profiles of a program in memory,
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
// Kept are local roots, which are spans without a parent in this process, and
// spans with the attribute pyroscope.profile.id. The work of any other span is
// in the profile of its local root.
//
// # The join
//
// Samples carry the pprof labels profile_id and span_id, each with a span's id
// in 16 hex digits; trace_id with 32; and span_name. A sample belongs to the
// spans that its profile_id and its span_id name. It counts once for a span
// that both name, and once in totals where they name two.
//
// A profile_id may be any text. Where it is not the id of a span, that is where
// no span_id has that value and no such span was recorded, [Store.Spans] lists
// it as a manual exemplar: work that a program labelled with
// [runtime/pprof.Do], without a tracer. A span whose samples are there but whose
// summary is not, because it is still running, was evicted, or came from
// another tracer provider, is not listed; [Store.Span] finds it by its id.
//
// # Asking
//
// [Store.Spans] lists spans, the newest, the slowest or those with most CPU
// time first; [Store.NameTotals] sums them by name. A span without samples used
// little CPU only if its Coverage is CoverageWhole: where CPU was not profiled,
// or where the profiles made room for newer ones, it may have used any. [Store.Select] sums samples by stack, for a flame graph;
// [Store.Profile] returns the same samples in the pprof format, with labels.
// Both take a [Query]: all samples of one span are
//
//	m, err := store.NewMatcher("span_id", store.MatchEqual, id)
//	if err != nil {
//		return err
//	}
//	selection, err := s.Select(store.Query{
//		Kind:     exporter.KindCPU,
//		Matchers: []store.Matcher{m},
//	})
//
// Queries copy references and totals under a short lock and work on immutable
// data from then on, so that a slow one does not hold up the profiler. The lock
// that spans take on the request path is another one.
//
// # Limits
//
// Spans take at most a quarter of the bytes, profiles three quarters; the oldest
// make room for the newest, profiles in the order of their arrival, spans in
// that of their end, 128 at a time. [Store.Stats] counts them. Code and labels
// are kept once for all profiles that have them: a sample in a span of its own
// takes about 340 bytes (go test -bench BytesPerSample). The bytes are counted,
// not measured, and meet what the heap holds within a quarter; what a query
// returns, and a profile that is being parsed, come on top.
//
// # For the next developer
//
// windowbuilder.go turns a profile into a window, which never changes;
// tables.go and table.go keep what windows share, with reference counts;
// index.go holds windows and finds their samples by id; cputimes.go knows when
// CPU was profiled, and what of that is still held; spanlog.go holds spans and
// is all that runs on the request path; spans.go and nametotal.go read both;
// find.go evaluates a query for select.go and profile.go.
package store
