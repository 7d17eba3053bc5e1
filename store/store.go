// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
)

// Store holds the newest spans and profiles and joins them by id. It is safe
// for concurrent use; New makes it.
type Store struct {
	maxBytes int64
	spans    *spanLog

	// ingest lets one profile in at a time. It guards what follows.
	ingest sync.Mutex
	tables tables
	shut   bool
	// foreign is true once spans of a service without profiles were reported.
	foreign bool

	// mu guards what queries read: index and stats are written under both
	// locks, so that Export may read them under its own. Queries hold it
	// for as long as it takes to copy references and totals.
	events eventLog

	mu    sync.RWMutex
	index index
	stats Stats
}

var _ exporter.Exporter = (*Store)(nil)

// New returns an empty store. An error names the option that is wrong.
func New(opts ...Option) (*Store, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	return &Store{
		maxBytes: c.maxBytes,
		spans:    newSpanLog(c.maxBytes / 4),
		tables:   newTables(),
		index:    newIndex(),
	}, nil
}

// Export takes a profile in, and lets the oldest ones go where it would exceed
// three quarters of the store's bytes. It fails for a profile that is not valid
// pprof or that alone is too big, and with exporter.ErrShutdown after Shutdown.
// It waits for nothing, and so does not look at the context.
func (s *Store) Export(_ context.Context, p *exporter.Profile) error {
	// Before the lock: parsing takes the longest.
	parsed, err := p.Parsed()
	if err == nil {
		if parsed == nil {
			err = errors.New("no profile")
		} else {
			err = parsed.CheckValid()
		}
	}

	s.ingest.Lock()
	defer s.ingest.Unlock()
	if s.shut {
		return exporter.ErrShutdown
	}
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stats.ParseErrors++
		return s.refuse(p, fmt.Errorf("store: invalid %s profile: %w", p.Kind(), err))
	}

	w := newWindowBuilder(&s.tables, s.index.ids).build(p, parsed)
	spans := s.newSpans(w)
	total, labelled := w.cpu()
	tooBig := s.add(w, func(stats *Stats) {
		stats.WindowsReceived++
		stats.SpansWithSamples += int64(spans)
		stats.CPUTime += total
		stats.CPUTimeLabelled += labelled
	})
	s.reportService()
	if tooBig {
		return s.refuse(p, fmt.Errorf("store: a %s profile of %d samples does not fit into three quarters of %d bytes: raise WithMaxBytes", p.Kind(), len(parsed.Sample), s.maxBytes))
	}
	s.events.add(w.event(EventReceived))
	return nil
}

// refuse enters a profile that is not taken in, and returns err.
func (s *Store) refuse(p *exporter.Profile, err error) error {
	s.events.add(Event{Type: EventRefused, Kind: p.Kind(), Service: serviceName(p.Resource()), Text: err.Error()})
	return err
}

// add makes w visible to queries, and evicts the oldest windows until the rest
// fits. It reports whether w itself did not fit.
func (s *Store) add(w *window, count func(*Stats)) (tooBig bool) {
	s.mu.Lock()
	s.index.add(w)
	count(&s.stats)
	s.mu.Unlock()

	limit := s.maxBytes - s.maxBytes/4
	for s.index.bytes+s.tables.bytes() > limit && len(s.index.windows) > 0 {
		s.mu.Lock()
		oldest := s.index.removeOldest()
		s.stats.WindowsEvicted++
		s.mu.Unlock()
		s.tables.releaseWindow(oldest)
		s.events.add(oldest.event(EventEvicted))
		tooBig = oldest == w
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Bytes = s.index.bytes + s.tables.bytes()
	return tooBig
}

// reportService says once that spans and profiles name different services. They
// are joined all the same, but other tools join them by service.name.
func (s *Store) reportService() {
	service, ok := s.spans.lastService()
	if s.foreign || !ok || len(s.index.times) == 0 {
		return
	}
	if _, profiled := s.index.times[service]; profiled {
		return
	}
	s.foreign = true
	// The handler may shut down the profiler, which waits for this Export.
	go otel.Handle(fmt.Errorf("store: spans have service.name %q, CPU profiles %q: give the profiler the resource of the tracer provider, by WithResource",
		service, slices.Sorted(maps.Keys(s.index.times))))
}

// newSpans returns how many spans have their first CPU sample in w.
func (s *Store) newSpans(w *window) int {
	spans := make(map[string]struct{})
	// What no span_id names may still be a span, or anything.
	unsure := make(map[trace.SpanID]struct{})
	for i := range w.groups {
		g := &w.groups[i]
		if _, samples := g.cpu(); samples == 0 {
			continue
		}
		if g.spanID != "" && !s.hasSamples(g.spanID) {
			spans[g.spanID] = struct{}{}
		}
		if g.profileID == g.spanID || s.hasSamples(g.profileID) {
			continue
		}
		if id, err := trace.SpanIDFromHex(g.profileID); err == nil {
			unsure[id] = struct{}{}
		}
	}
	for id := range s.spans.known(unsure) {
		spans[id.String()] = struct{}{}
	}
	return len(spans)
}

func (s *Store) hasSamples(id string) bool {
	e, ok := s.index.ids[id]
	return ok && e.samples > 0
}

// ForceFlush does nothing: what Export took is there. It fails with
// exporter.ErrShutdown after Shutdown.
func (s *Store) ForceFlush(context.Context) error {
	s.ingest.Lock()
	defer s.ingest.Unlock()
	if s.shut {
		return exporter.ErrShutdown
	}
	return nil
}

// Shutdown lets no more profiles in. Queries still answer, and the span
// processor still records.
func (s *Store) Shutdown(context.Context) error {
	s.ingest.Lock()
	defer s.ingest.Unlock()
	s.shut = true
	return nil
}

// Stats returns what the store holds, took in and lost.
func (s *Store) Stats() Stats {
	s.mu.RLock()
	stats := s.stats
	stats.Windows = len(s.index.windows)
	s.mu.RUnlock()
	stats.MaxBytes = s.maxBytes
	stats.Bytes += s.events.bytes()
	s.spans.addTo(&stats)
	return stats
}
