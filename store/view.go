// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"

	"github.com/google/pprof/profile"
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

	// Close ends the view. It must be called once, and nothing after it.
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

// View opens a view of what the store holds now.
func (s *Store) View(ctx context.Context) (View, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &storeView{ctx: ctx, store: s, generation: s.Generation()}, nil
}

type storeView struct {
	ctx        context.Context
	store      *Store
	generation uint64
}

func (v *storeView) Span(id string) (Span, bool, error) {
	span, ok := v.store.Span(id)
	return span, ok, v.ctx.Err()
}

func (v *storeView) Spans(q SpanQuery) ([]Span, error) { return v.store.Spans(q), v.ctx.Err() }

func (v *storeView) NameTotals() ([]NameTotal, error) { return v.store.NameTotals(), v.ctx.Err() }

func (v *storeView) Select(q Query) (*Selection, error) { return v.store.Select(q) }

func (v *storeView) Profile(q Query) (*profile.Profile, error) { return v.store.Profile(q) }

func (v *storeView) Timeline(q Query, n int) (*Timeline, error) { return v.store.Timeline(q, n) }

func (v *storeView) Kinds(q Query) ([]KindTotal, error) { return v.store.Kinds(q), v.ctx.Err() }

func (v *storeView) Windows(q WindowQuery) ([]WindowInfo, error) {
	return v.store.Windows(q), v.ctx.Err()
}

func (v *storeView) Stats() Stats { return v.store.Stats() }

func (v *storeView) Log() []Event { return v.store.Log() }

func (v *storeView) Generation() uint64 { return v.generation }

func (v *storeView) Close() {}
