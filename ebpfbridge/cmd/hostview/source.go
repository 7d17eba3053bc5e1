// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/spanprof/spanprof/store"
)

// source shows a store that gets samples of spans, but not the spans.
type source struct{ *store.Store }

func (s source) View(ctx context.Context, from, until time.Time) (store.View, error) {
	v, err := s.Store.View(ctx, from, until)
	return view{v}, err
}

// view has the same spans as the store's, and separates them from work without a span.
type view struct{ store.View }

func (v view) Info() store.Info {
	info := v.View.Info()
	info.Lacks |= store.LacksRecords
	return info
}

func (v view) Spans(q store.SpanQuery) (store.SpanList, error) {
	list, err := v.View.Spans(q)
	for i, s := range list.Spans {
		list.Spans[i] = withoutSummary(s)
	}
	return list, err
}

// withoutSummary returns a span for a manual exemplar with the id of a span. The store has no
// record of it.
func withoutSummary(s store.Span) store.Span {
	if id, err := hex.DecodeString(s.ProfileID); s.Manual && err == nil && len(id) == 8 {
		s.Manual, s.SummaryMissing = false, true
	}
	return s
}
