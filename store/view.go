// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// Source is anything whose spans and profiles can be shown: a Store, profiles in
// files, a profile server. It is safe for concurrent use.
type Source interface {
	// View opens a view for one request. The queries of the view end with ctx.
	View(ctx context.Context) (View, error)
}

var _ Source = (*Store)(nil)

// View answers the queries of one request. Its answers agree with each other: all
// of them are about the one moment at which the view was opened, as far as the
// source can tell, so that the samples of a [Selection] are those that [Span] and
// [KindTotal] count. Store.View says what a Store guarantees.
//
// A source that does not know something answers with zero values: profiles in
// files have no spans to list. An error says that the query is wrong
// ([ErrUnknownSampleType], [ErrTooManySamples]), that the context has ended, or
// that the source failed.
//
// A view serves one request: it need not be safe for concurrent use. What it
// returned stays valid after Close, and belongs to the caller, except for the
// locations of stacks, which are shared and must not be changed.
type View interface {
	// Span returns the span or manual exemplar with that profile_id or
	// span_id, and whether there is one.
	Span(id string) (Span, bool, error)
	// Spans returns the spans that q selects.
	Spans(q SpanQuery) ([]Span, error)
	// NameTotals sums spans by service and name, those with most CPU time
	// first.
	NameTotals() ([]NameTotal, error)

	// Select returns the samples that q selects, summed by stack.
	Select(q Query) (*Selection, error)
	// Profile returns the samples that q selects in the pprof format.
	Profile(q Query) (*profile.Profile, error)
	// Timeline returns the value of the samples that q selects, by window
	// and by the n values of span_name that have most of it.
	Timeline(q Query, n int) (*Timeline, error)

	// Kinds returns the kinds of profiles that have samples for the matchers
	// and the time of q, by name. Kind and SampleType of q do not count.
	Kinds(q Query) ([]KindTotal, error)
	// Windows returns the windows that q selects, the oldest first.
	Windows(q WindowQuery) ([]WindowInfo, error)

	// Close ends the view. It must be called, and no other method after it; a
	// second call does nothing.
	Close()
}

// Live is implemented by the views of a source that takes in spans and profiles
// while it is read, such as a Store. Other sources have no log, and nothing to poll
// for. The answers agree with those of the [View].
type Live interface {
	// Stats returns what the source holds, took in and lost.
	Stats() Stats
	// Log returns what happened to the newest windows, the oldest event first.
	Log() []Event
	// Generation is Store.Generation at the moment of the view.
	Generation() uint64
}

var (
	_ View = (*storeView)(nil)
	_ Live = (*storeView)(nil)
)

// View opens a view of what the store holds now. All of its answers are about one
// moment between two changes: a profile that comes or makes room counts
// everywhere or nowhere, and so does a span that starts, ends or makes room. The
// durations of running spans are those of that moment.
//
// A view copies references, not spans or samples. While it is open, the records of
// spans that change are kept as they were, so close it early. All open views
// together keep at most twice the records that the store has: beyond that, further
// views share the moment of the last one. Opening a view waits for a profile that
// is being added, for some milliseconds at most. Spans and profiles do not wait
// while a view is open.
func (s *Store) View(ctx context.Context) (View, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &storeView{ctx: ctx, moment: s.open()}, nil
}

// moment is what the store held at one moment.
type moment struct {
	held
	store *Store
	spans *spanlog.View
	// now is the moment in nanoseconds since 1970.
	now    int64
	stats  Stats
	events []Event
	oldest int
}

// open returns the moment of a new view, for which close must be called.
func (s *Store) open() *moment {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.viewsMu.Lock()
	defer s.viewsMu.Unlock()
	var last *spanlog.View
	if s.last != nil {
		last = s.last.spans
	}
	spans := s.spans.Open(last)
	if spans == last {
		return s.last
	}
	m := &moment{held: s.index.held, store: s, spans: spans, now: time.Now().UnixNano(), stats: s.statsWith(spans.Totals)}
	m.events, m.oldest = s.events.share()
	s.last = m
	return m
}

func (m *moment) close() {
	m.store.viewsMu.Lock()
	defer m.store.viewsMu.Unlock()
	if m.spans.Close() {
		m.store.last = nil
	}
}

// statsWith returns the statistics, with those of the spans. The caller holds the
// lock.
func (s *Store) statsWith(spans spanlog.Totals) Stats {
	stats := s.stats
	stats.Windows = len(s.index.windows)
	stats.MaxBytes = s.maxBytes
	stats.Bytes += s.events.bytes() + spans.Bytes
	stats.SpansEnded = spans.Ended
	stats.SpansNotKept = spans.NotKept
	stats.SpansEvicted = spans.Evicted
	stats.SpansWithSamples = spans.WithSamples
	stats.Spans, stats.SpansRunning = spans.Held, spans.Running
	return stats
}

func (m *moment) log() []Event { return slices.Concat(m.events[m.oldest:], m.events[:m.oldest]) }

type storeView struct {
	ctx context.Context
	*moment
	closed bool
}

func (v *storeView) Span(id string) (Span, bool, error) {
	if err := v.ctx.Err(); err != nil {
		return Span{}, false, err
	}
	span, ok := v.findSpan(id)
	return span, ok, nil
}

func (v *storeView) Spans(q SpanQuery) ([]Span, error) {
	return answer(v.ctx, func() ([]Span, error) { return v.listSpans(q), nil })
}

func (v *storeView) NameTotals() ([]NameTotal, error) {
	return answer(v.ctx, func() ([]NameTotal, error) { return v.nameTotals(), nil })
}

func (v *storeView) Select(q Query) (*Selection, error) {
	return answer(v.ctx, func() (*Selection, error) { return v.selection(q) })
}

func (v *storeView) Profile(q Query) (*profile.Profile, error) {
	return answer(v.ctx, func() (*profile.Profile, error) { return v.profile(q) })
}

func (v *storeView) Timeline(q Query, n int) (*Timeline, error) {
	return answer(v.ctx, func() (*Timeline, error) { return v.timeline(q, n) })
}

func (v *storeView) Kinds(q Query) ([]KindTotal, error) {
	return answer(v.ctx, func() ([]KindTotal, error) { return v.kindTotals(q), nil })
}

func (v *storeView) Windows(q WindowQuery) ([]WindowInfo, error) {
	return answer(v.ctx, func() ([]WindowInfo, error) { return v.infos(q), nil })
}

func (v *storeView) Stats() Stats { return v.stats }

func (v *storeView) Log() []Event { return v.log() }

func (v *storeView) Generation() uint64 { return v.spans.Generation }

func (v *storeView) Close() {
	if !v.closed {
		v.closed = true
		v.close()
	}
}

// answer asks for a client that still waits.
func answer[A any](ctx context.Context, ask func() (A, error)) (A, error) {
	if err := ctx.Err(); err != nil {
		var none A
		return none, err
	}
	return ask()
}
