// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pyroscopeview shows what a Pyroscope server has on the viewer's page: one page
// for all replicas of all services, where links to a single span open too.
//
// Each page sends new queries to the server, about one time:
//
//	view.go      the source: one view a request, its time and its notes
//	selector.go  conditions of a query as selectors of the server
//	selection.go samples: a flame graph, pprof
//	kinds.go     services, their profile types and kinds
//	series.go    CPU time by name
//	spans.go     the list of spans
//	span.go      one span: its name and service
package pyroscopeview

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/querier"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

const (
	// lookback is the default length of a time.
	lookback = time.Hour
	// viewTime bounds a request: the viewer's server gives up after two minutes.
	viewTime = 90 * time.Second
	// maxCalls bounds the calls of one request.
	maxCalls = 64
	// margin is how long before a span the profile with its samples may begin. The
	// server selects profiles by their beginning.
	margin = 2 * time.Minute
)

// source is a server.
type source struct{ client *querier.Client }

var _ store.Source = (*source)(nil)

// Handler returns the page of what a server has. A query without times is about the last hour.
func Handler(c *querier.Client, opts ...viewer.Option) http.Handler {
	return viewer.Handler(&source{c}, opts...)
}

// View implements store.Source. Without times it is about the last hour.
func (s *source) View(ctx context.Context, from, until time.Time) (store.View, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, viewTime, fmt.Errorf("no answer to all questions of this page within %s: ask for less time: %w", viewTime, context.DeadlineExceeded))
	v := &view{
		client: s.client.Limited(maxCalls), ctx: ctx, cancel: cancel,
		merges: make(map[string]*merged),
		seen:   make(map[string]querier.Selector),
		spans:  make(map[string]foundSpan),
		listed: make(map[string]*spanPage),
		chosen: from.IsZero(),
	}
	if until.IsZero() {
		until = time.Now()
	}
	if from.IsZero() {
		from = until.Add(-lookback)
	}
	v.from, v.until = from, until
	return v, nil
}

// view answers the questions of one request.
type view struct {
	client *querier.Client // for the calls of one request
	ctx    context.Context
	cancel context.CancelFunc
	// from and until are the time of the request. chosen is set if the request has none.
	from, until time.Time
	chosen      bool
	notes       []string

	// What is asked once for a view.
	held   []series // nil if unknown
	merges map[string]*merged
	seen   map[string]querier.Selector
	spans  map[string]foundSpan
	listed map[string]*spanPage
	names  []store.NameTotal
}

var _ store.View = (*view)(nil)

// Info implements store.View.
func (v *view) Info() store.Info {
	info := store.Info{Notes: slices.Clip(v.notes), Lacks: store.LacksUpdates | store.LacksRecords | store.LacksWindows}
	if v.chosen {
		info.Notes = append(info.Notes, "this is about 1h, "+termtext.TimeRange(v.from, v.until)+": from and until in the address choose another time")
	}
	return info
}

// note adds a note, once.
func (v *view) note(text string) {
	if !slices.Contains(v.notes, text) {
		v.notes = append(v.notes, text)
	}
}

// Close implements store.View.
func (v *view) Close() { v.cancel() }

// times returns the time of a query, by default the time of the view.
func (v *view) times(from, until time.Time) (time.Time, time.Time) {
	switch {
	case from.IsZero() && until.IsZero():
		return v.from, v.until
	case from.IsZero():
		return until.Add(-lookback), until
	case until.IsZero():
		return from, v.until
	}
	return from, until
}

// around returns a time with what is before it in which profiles may begin that reach
// into it.
func around(from, until time.Time) (time.Time, time.Time) {
	return from.Add(-margin), until.Add(time.Second)
}

// group runs functions at one time, and returns the first error in their order.
func group(run ...func() error) error {
	errs := make([]error, len(run))
	var all sync.WaitGroup
	for i, f := range run {
		all.Go(func() { errs[i] = f() })
	}
	all.Wait()
	return cmp.Or(errs...)
}
