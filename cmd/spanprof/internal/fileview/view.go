// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package fileview

import (
	"cmp"
	"context"
	"encoding/hex"
	"slices"
	"strings"

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
	return &fileView{v, s.Page}, nil
}

// Generation has the viewer keep answers: what was loaded does not change.
func (s *fileSource) Generation() uint64 { return s.store.Generation() }

// fileView is a view of the store that is not a store.Live: profiles of files have no
// log, and there are none to wait for.
type fileView struct {
	store.View
	page *Page
}

var _ store.Noter = (*fileView)(nil)

// Generation is that of the source.
func (v *fileView) Generation() uint64 { return v.page.store.Generation() }

// Notes implements store.Noter.
func (v *fileView) Notes() []string { return v.page.notes }

// Span implements store.View.
func (v *fileView) Span(id string) (store.Span, bool, error) {
	s, ok, err := v.View.Span(id)
	return withoutSummary(s), ok, err
}

// Spans implements store.View. The spans are those that samples name.
func (v *fileView) Spans(q store.SpanQuery) ([]store.Span, error) {
	if q.OnlyErrors || q.MinDuration > 0 || q.MaxDuration > 0 || len(q.Attributes) > 0 || q.Below != "" {
		return nil, nil // Nothing is known of that.
	}
	var spans []store.Span
	part := strings.ToLower(q.Contains)
	for _, id := range v.page.ids.list {
		s, ok, err := v.Span(id)
		if err != nil {
			return nil, err
		}
		switch {
		case !ok,
			q.Name != "" && s.Name != q.Name, !strings.Contains(strings.ToLower(s.Name), part),
			q.Service != "" && s.Service != q.Service,
			q.TraceID != "" && !strings.EqualFold(s.TraceID, q.TraceID),
			!q.Until.IsZero() && !s.Start.Before(q.Until), !q.From.IsZero() && s.Start.Add(s.Duration).Before(q.From):
			continue
		}
		spans = append(spans, s)
	}
	slices.SortStableFunc(spans, func(a, b store.Span) int {
		if q.Order == store.Newest {
			return b.Start.Add(b.Duration).Compare(a.Start.Add(a.Duration))
		}
		return cmp.Compare(b.CPU, a.CPU) // There is no wall time.
	})
	if q.Limit > 0 {
		spans = spans[:min(q.Limit, len(spans))]
	}
	return spans, nil
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
