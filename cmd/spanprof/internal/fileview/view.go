// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package fileview

import (
	"cmp"
	"context"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/store"
)

// fileSource shows a store that receives nothing more.
type fileSource struct{ *Page }

var _ store.Source = (*fileSource)(nil)

// View implements store.Source.
func (s *fileSource) View(ctx context.Context, from, until time.Time) (store.View, error) {
	v, err := s.store.View(ctx, from, until)
	return &fileView{v, s.Page}, err
}

// fileView is a view of the store with the spans that samples name.
type fileView struct {
	store.View
	page *Page
}

// Info implements store.View.
func (v *fileView) Info() store.Info {
	if v.page.earlier {
		info := v.View.Info()
		info.Notes = v.page.notes
		return info
	}
	return store.Info{Notes: v.page.notes, Lacks: store.LacksUpdates | store.LacksRecords}
}

// Spans implements store.View.
func (v *fileView) Spans(q store.SpanQuery) (list store.SpanList, err error) {
	if v.page.earlier {
		return v.View.Spans(q)
	}
	if q.ID != "" || q.Names {
		list, err = v.View.Spans(q)
		for i := range list.Spans {
			list.Spans[i] = withoutSummary(list.Spans[i])
		}
		return list, err
	}
	if q.OnlyErrors || q.MinDuration > 0 || q.MaxDuration > 0 || len(q.Attributes) > 0 || q.Below != "" {
		return list, nil // nothing is known of that
	}
	part := strings.ToLower(q.Contains)
	for _, id := range v.page.ids.list {
		found, err := v.Spans(store.SpanQuery{ID: id})
		if err != nil {
			return list, err
		}
		for _, s := range found.Spans {
			switch {
			case q.Name != "" && s.Name != q.Name, !strings.Contains(strings.ToLower(s.Name), part),
				q.Service != "" && s.Service != q.Service,
				q.TraceID != "" && !strings.EqualFold(s.TraceID, q.TraceID),
				!q.Until.IsZero() && !s.Start.Before(q.Until), !q.From.IsZero() && s.Start.Add(s.Duration).Before(q.From):
				continue
			}
			list.Spans = append(list.Spans, s)
		}
	}
	slices.SortStableFunc(list.Spans, func(a, b store.Span) int {
		if q.Order == store.Newest {
			return b.Start.Add(b.Duration).Compare(a.Start.Add(a.Duration))
		}
		return cmp.Compare(b.CPU, a.CPU) // there is no wall time
	})
	if q.Limit > 0 {
		list.Spans = list.Spans[:min(q.Limit, len(list.Spans))]
	}
	return list, nil
}

// withoutSummary returns a span for a manual exemplar with the id of a span. The store has no
// record of it, because files have none.
func withoutSummary(s store.Span) store.Span {
	if id, err := hex.DecodeString(s.ProfileID); err == nil && len(id) == 8 {
		s.Manual, s.SummaryMissing = false, true
	}
	s.Complete = true // No more samples come.
	return s
}
