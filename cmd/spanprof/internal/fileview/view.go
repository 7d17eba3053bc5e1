// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package fileview

import (
	"context"
	"encoding/hex"

	"github.com/spanprof/spanprof/store"
)

// fileSource shows a store that takes in nothing any more.
type fileSource struct{ *Page }

var _ store.Source = (*fileSource)(nil)

// View implements store.Source.
func (s *fileSource) View(ctx context.Context) (store.View, error) {
	v, err := s.store.View(ctx)
	if err != nil {
		return nil, err
	}
	return &fileView{v, s.notes}, nil
}

// fileView is a view of the store that is not a store.Live: profiles of files have no
// log, and there are none to wait for.
type fileView struct {
	store.View
	notes []string
}

var _ store.Noter = (*fileView)(nil)

// Notes implements store.Noter.
func (v *fileView) Notes() []string { return v.notes }

// Span implements store.View.
func (v *fileView) Span(id string) (store.Span, bool, error) {
	s, ok, err := v.View.Span(id)
	return withoutSummary(s), ok, err
}

// Spans implements store.View.
func (v *fileView) Spans(q store.SpanQuery) ([]store.Span, error) {
	spans, err := v.View.Spans(q)
	for i, s := range spans {
		spans[i] = withoutSummary(s)
	}
	return spans, err
}

// withoutSummary tells the spans among what the store takes for manual exemplars, as
// files have no span records: those whose id is one of a span.
func withoutSummary(s store.Span) store.Span {
	if id, err := hex.DecodeString(s.ProfileID); err == nil && len(id) == 8 {
		s.Manual, s.SummaryMissing = false, true
	}
	s.Complete = true // No more samples come.
	return s
}
