// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package fileview

import (
	"context"
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
	for i := range list.Spans {
		list.Spans[i].Complete = q.Sampled || list.Spans[i].Complete // no more samples come
	}
	return list, err
}
