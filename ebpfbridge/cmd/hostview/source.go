// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// source shows a store that gets samples of spans, but not the spans. A store takes the CPU time
// of spans from profiles of KindCPU. So the agent's have this kind within it, and KindHost
// outside.
type source struct{ *store.Store }

func (s source) View(ctx context.Context, from, until time.Time) (store.View, error) {
	v, err := s.Store.View(ctx, from, until)
	return view{v}, err
}

// view has the same spans as the store's, and separates them from work without a span.
type view struct{ store.View }

// storedKind is the kind of a profile within the store.
func storedKind(k exporter.Kind) exporter.Kind {
	if k == exporter.KindHost {
		return exporter.KindCPU
	}
	return k
}

func shownKind(k exporter.Kind) exporter.Kind {
	if k == exporter.KindCPU {
		return exporter.KindHost
	}
	return k
}

func (v view) Samples(q store.Query) (*store.Samples, error) {
	q.Kind = storedKind(q.Kind)
	answer, err := v.View.Samples(q)
	if err == nil {
		answer.Kind = shownKind(answer.Kind)
		for i := range answer.Sums {
			answer.Sums[i].Kind = shownKind(answer.Sums[i].Kind)
		}
	}
	return answer, err
}

func (v view) Windows() ([]store.WindowInfo, error) {
	list, err := v.View.Windows()
	for i := range list {
		list[i].Kind = shownKind(list[i].Kind)
	}
	return list, err
}

func (v view) Info() store.Info {
	info := v.View.Info()
	info.Lacks |= store.LacksRecords
	return info
}

func (v view) Spans(q store.SpanQuery) (store.SpanList, error) {
	q.Sampled = true
	return v.View.Spans(q)
}
