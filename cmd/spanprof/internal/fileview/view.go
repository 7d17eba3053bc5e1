// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package fileview

import (
	"context"
	"encoding/hex"
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
func (v *fileView) Spans(q store.SpanQuery) (store.SpanList, error) {
	q.Sampled = !v.page.earlier
	list, err := v.View.Spans(q)
	if q.Sampled {
		for i := range list.Spans {
			list.Spans[i] = withoutSummary(list.Spans[i])
		}
	}
	return list, err
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
