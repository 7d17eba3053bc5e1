// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"

	"github.com/spanprof/spanprof/store"
)

// source shows a store that gets samples of spans, but not the spans.
type source struct{ *store.Store }

func (s source) View(ctx context.Context) (store.View, error) {
	v, err := s.Store.View(ctx)
	if err != nil {
		return nil, err
	}
	return view{v, v.(store.Live)}, nil
}

// view has the same spans as the store's, and tells them from work without a span.
type view struct {
	store.View
	store.Live
}

func (v view) Span(id string) (store.Span, bool, error) {
	s, ok, err := v.View.Span(id)
	return withoutSummary(s), ok, err
}

func (v view) Spans(q store.SpanQuery) ([]store.Span, error) {
	spans, err := v.View.Spans(q)
	for i, s := range spans {
		spans[i] = withoutSummary(s)
	}
	return spans, err
}

// withoutSummary tells a span from what the store takes for a manual exemplar, as it has
// no record of it: by its id, which is one of a span.
func withoutSummary(s store.Span) store.Span {
	if id, err := hex.DecodeString(s.ProfileID); s.Manual && err == nil && len(id) == 8 {
		s.Manual, s.SummaryMissing = false, true
	}
	return s
}
