// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pyroscopeview shows what a Pyroscope server has on the viewer's page: one page
// for all replicas of all services, where links to a single span open too.
//
// Each page sends new queries to the server, about one time:
//
//	source.go    the source: one view a request
//	view.go      the time of a view, its notes, and how much it may ask
//	selector.go  conditions of a query as selectors of the server
//	selection.go samples: a flame graph, pprof
//	kinds.go     services, their profile types and kinds
//	series.go    values over time and by name
//	spans.go     the list of spans
//	span.go      one span: its name and service
package pyroscopeview

import (
	"context"
	"net/http"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/querier"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// source is a server.
type source struct {
	client   *querier.Client
	lookback time.Duration
}

var _ store.Source = (*source)(nil)

// Handler returns the page of what a server has. A query without times is about the time
// since lookback ago.
func Handler(c *querier.Client, lookback time.Duration, opts ...viewer.Option) http.Handler {
	return viewer.Handler(newSource(c, lookback), opts...)
}

func newSource(c *querier.Client, lookback time.Duration) *source {
	return &source{client: c, lookback: lookback}
}

// View implements store.Source. Without times it is about the time since lookback ago.
func (s *source) View(ctx context.Context, from, until time.Time) (store.View, error) {
	ctx, cancel := context.WithTimeout(ctx, viewTime)
	v := &view{
		source: s,
		ctx:    ctx,
		cancel: cancel,
		merges: make(map[string]*merged),
		seen:   make(map[string]querier.Selector),
		spans:  make(map[string]foundSpan),
		listed: make(map[string]*spanPage),
	}
	v.chosen = from.IsZero()
	if until.IsZero() {
		until = time.Now()
	}
	if from.IsZero() {
		from = until.Add(-s.lookback)
	}
	v.from, v.until = from, until
	return v, nil
}
