// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/env"
	"github.com/spanprof/spanprof/internal/report"
	"github.com/spanprof/spanprof/internal/spanlabels"
	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/segment"
)

// Store holds the newest spans and profiles and joins them by id. It is safe for
// concurrent use; New makes it.
type Store struct {
	config   config
	room     *segment.Room
	intake   *segment.Intake
	reporter report.Reporter
	shut     atomic.Bool

	origins origins
	exact   exactTimes
	running running
	runs    atomic.Bool // spans, as of the last view
	lacks   Lacks
	// asking bounds the questions that run over all rows at a time.
	asking chan struct{}

	// compared is the number of CPU profiles since the first span.
	compared atomic.Int64
}

var _ exporter.Exporter = (*Store)(nil)

// New returns an empty store. An error names the option that is wrong.
func New(opts ...Option) (*Store, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	if env.Disabled() {
		c.directory = ""
	}
	s := newStore(c)
	if c.directory != "" {
		if err := s.room.WithDirectory(c.directory, c.directoryBytes, s.reporter.Report); err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
	}
	return s, nil
}

// ErrNoRuns is the error of OpenDirectory for a directory that no process has written as
// WithDirectory does.
var ErrNoRuns = segment.ErrNoRuns

// OpenDirectory returns a store with the spans and profiles that processes left in a
// directory, as far as WithMaxBytes allows. The processes may still run. It changes nothing in
// the directory, and the store accepts nothing more. left gets an error for each file that
// could not be read. The error names the directory, or the option that is wrong.
func OpenDirectory(path string, left func(error), opts ...Option) (*Store, error) {
	c, err := newConfig(opts)
	if err == nil && c.directory != "" {
		err = errors.New("store: OpenDirectory writes nothing: leave WithDirectory out")
	}
	if err != nil {
		return nil, err
	}
	s := newStore(c)
	s.config.directory, s.lacks = path, LacksUpdates
	s.shut.Store(true)
	if err := s.room.OpenDirectory(path, left); err != nil {
		return nil, fmt.Errorf("store: %s: %w", path, err)
	}
	return s, nil
}

func newStore(c config) *Store {
	s := &Store{config: c, asking: make(chan struct{}, max(2, runtime.GOMAXPROCS(0)/2))}
	keys := attributes.NewKeys(c.attributes)
	if c.withoutAttributes {
		keys = nil
	}
	s.room = segment.NewRoom(c.maxBytes, keys)
	s.intake = segment.NewIntake(s.room, c.fraction, func(sampled bool) bool { return sampled && spanlabels.Counts.EverySpan.Load() })
	s.origins.tracers = make(map[string]*Tracer)
	s.intake.Roots = s.origins.count
	s.room.Running = s.running.ids
	s.exact.max, s.exact.times = c.maxBytes/32, make(map[ident.Key][]byte)
	return s
}

// Export adds a profile and evicts older ones if there is no room. It fails for a
// profile that is not valid pprof or that alone exceeds half of the bytes. After Shutdown it
// fails with exporter.ErrShutdown. It never waits, and so it ignores the context.
func (s *Store) Export(_ context.Context, p *exporter.Profile) error {
	if s.shut.Load() {
		return exporter.ErrShutdown
	}
	s.intake.Drain()
	err := s.room.Export(p)
	if err == nil && p.Kind() == exporter.KindCPU && s.intake.Resource() != nil {
		s.compared.Add(1)
	}
	return err
}

// ForceFlush waits until what Export accepted is in the directory, if there is one. It
// fails with exporter.ErrShutdown after Shutdown.
func (s *Store) ForceFlush(ctx context.Context) error {
	if s.shut.Load() {
		return exporter.ErrShutdown
	}
	s.intake.Drain()
	return s.room.Flush(ctx)
}

// Shutdown stops accepting profiles. Queries still answer, and the span processor still
// records. Spans that have ended are written to the directory, if there is one. It waits
// until otel.Handle has returned from the last reports, for half a second at most.
func (s *Store) Shutdown(ctx context.Context) error {
	if s.shut.Swap(true) {
		return nil
	}
	s.intake.Drain()
	done := make(chan error, 1)
	go func() { done <- s.room.Close() }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.reporter.Wait(ctx)
	return err
}

// Lookup returns the name and the trace id of a span that has ended by its id, 16 hex
// digits. It opens no view: a receiver of samples may look up each id. The trace id is
// empty if absent.
func (s *Store) Lookup(id string) (name, traceID string, ok bool) {
	key := ident.ParseKey(id)
	if key == 0 {
		return "", "", false
	}
	s.intake.Drain()
	e, ok := s.room.Lookup(key)
	if e.Trace.IsValid() {
		traceID = e.Trace.String()
	}
	return e.Name, traceID, ok
}

// SpanResource returns the resource of the span that ended last, nil before there is one.
// Given to profiler.WithResourceFunc, it gives profiles the service of the spans.
func (s *Store) SpanResource() *resource.Resource {
	s.intake.Drain()
	return s.intake.Resource()
}

// Services returns service.name of the span that ended last, and whether there is one. If
// CPU profiles after the first span are of other services, it returns these too, sorted. They
// are joined all the same, but other tools join them by service.name.
func (s *Store) Services() (spans string, known bool, others []string) {
	of := s.SpanResource()
	spans = ident.Service(of)
	// The first profile after the first span may have come before it, see SpanResource.
	if profiled := s.room.Services(); s.compared.Load() > 1 && !slices.Contains(profiled, spans) {
		others = profiled
	}
	return spans, of != nil, others
}
