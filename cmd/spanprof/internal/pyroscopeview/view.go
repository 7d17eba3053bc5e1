// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pyroscopeview shows what a Pyroscope server has on the viewer's page: one page
// for all replicas of all services, where links to a single span open too.
//
// Each page sends new queries to the server, about one time. What the server cannot answer is
// a note on the page:
//
//	view.go      the source: one view a request, its time, its profile types and its notes
//	selector.go  conditions of a query as selectors of the server
//	samples.go   samples: a flame graph, pprof, the kinds with samples
//	spans.go     CPU time by name, the list of spans, one span
package pyroscopeview

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/querier"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/columns"
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
	// maxSeries bounds the services, versions and types of a page.
	maxSeries = 20_000
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
		seen:   make(map[string]conditions),
		spans:  make(map[string][]store.Span),
	}
	if v.until = until; until.IsZero() {
		v.until = time.Now()
	}
	if v.from = from; from.IsZero() {
		v.from = v.until.Add(-lookback)
		v.note("this is about 1h, " + termtext.TimeRange(v.from, v.until) + ": from and until in the address choose another time")
	}
	return v, nil
}

// view answers the questions of one request.
type view struct {
	client *querier.Client // for the calls of one request
	ctx    context.Context
	cancel context.CancelFunc
	// from and until are the time of the request.
	from, until time.Time
	notes       []string

	// What a view fetches once.
	held   []series // nil if unknown
	merges map[string]*merged
	seen   map[string]conditions // of the samples of a span
	spans  map[string][]store.Span
}

var _ store.View = (*view)(nil)

// Info implements store.View.
func (v *view) Info() store.Info {
	return store.Info{Notes: slices.Clip(v.notes), Lacks: store.LacksUpdates | store.LacksRecords | store.LacksWindows}
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
	if until.IsZero() {
		until = v.until
	}
	if from.IsZero() {
		from = v.from
	}
	return from, until
}

// around returns a time with what is before it in which profiles may begin that reach
// into it.
func around(from, until time.Time) (time.Time, time.Time) {
	return from.Add(-margin), until.Add(time.Second)
}

const profileType = "__profile_type__"

// series is what the server has of a service.
type series struct {
	service, version string
	querier.Type
}

// series returns what the server has in the time of the view, by service, version and
// type.
func (v *view) series() ([]series, error) {
	if v.held != nil {
		return v.held, nil
	}
	all, err := v.seriesOf("", serviceName, "service_version", profileType)
	v.held = all
	return all, err
}

// seriesOf returns what a label selector selects of the series, with some labels.
func (v *view) seriesOf(labels string, names ...string) ([]series, error) {
	from, until := around(v.from, v.until)
	sets, err := v.client.Series(v.ctx, labels, names, from, until)
	if err != nil {
		return nil, err
	}
	if len(sets) > maxSeries {
		return nil, fmt.Errorf("%s has %d services, versions and types, and a page takes %d: ask for less time", v.client, len(sets), maxSeries)
	}
	all := []series{}
	for _, set := range sets {
		if t, ok := querier.ParseType(set[profileType]); ok && !strings.HasPrefix(string(t.Kind), columns.Other) {
			all = append(all, series{set[serviceName], set["service_version"], t})
		}
	}
	slices.SortFunc(all, func(a, b series) int {
		return cmp.Or(cmp.Compare(a.service, b.service), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.version, b.version), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// typeOf returns the profile type of a kind with a sample type, of one service or, for "", of
// all. It is zero if the server lacks the kind. The error means that there are only other
// sample types.
func (v *view) typeOf(service string, kind exporter.Kind, sample string) (t querier.Type, err error) {
	all, err := v.series()
	var others []string
	for _, s := range all {
		switch {
		case s.Kind != kind, service != "" && s.service != service:
		case s.Sample != sample:
			others = append(others, s.Sample)
		case t.ID == "":
			t = s.Type
		case t.ID != s.ID:
			v.note(fmt.Sprintf("only %s is shown, and the server has %s too", t.ID, s.ID))
		}
	}
	if t.ID == "" && len(others) > 0 {
		slices.Sort(others)
		return t, fmt.Errorf("%s profiles: %w %q: the server has %q", kind, store.ErrUnknownSampleType, sample, slices.Compact(others))
	}
	return t, err
}

// Windows implements store.View. A server does not list its profiles: a window is all that
// it has of one service, version and kind.
func (v *view) Windows() ([]store.WindowInfo, error) {
	all, err := v.series()
	var windows []store.WindowInfo
	for _, s := range all {
		windows = append(windows, store.WindowInfo{Kind: s.Kind, Service: s.service, ServiceVersion: s.version, Start: v.from, Duration: v.until.Sub(v.from)})
	}
	// They come by service, kind and version.
	return slices.Compact(windows), err
}
