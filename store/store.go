// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// Store holds the newest spans and profiles and joins them by id. It is safe
// for concurrent use; New makes it.
type Store struct {
	maxBytes int64
	spans    *spanlog.Log

	// ingest lets one profile in at a time. It guards what follows.
	ingest sync.Mutex
	tables *tables
	shut   bool
	// named is true once a profile came after the first span.
	named bool

	events  eventLog
	origins origins

	// mu guards what queries read: index and stats are written under both
	// locks, so that Export may read them under its own. Export holds it from
	// the first change to the last of what belongs together; views for as long
	// as it takes to copy references and totals.
	mu    sync.RWMutex
	index index
	stats Stats
	// foreign is true once spans of a service without profiles were reported.
	foreign bool
	// viewsMu guards last, the moment of the newest view while any is open.
	viewsMu sync.Mutex
	last    *moment

	exemplarsMu   sync.Mutex
	lastExemplars weak.Pointer[exemplarList]
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
		spans:    spanlog.New(spanlog.Config{MaxBytes: c.maxBytes / 4, MinDuration: c.minDuration, Fraction: c.fraction, PerName: c.spansPerName}),
		tables:   newTables(),
		index:    newIndex(),
	}, nil
}

// Export takes a profile in, and lets older ones go where it would exceed three
// quarters of the store's bytes. It fails for a profile that is not valid
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
		return s.refuse(p, &s.stats.ParseErrors, fmt.Errorf("store: invalid %s profile: %w", p.Kind(), err))
	}

	// What is too big for an empty store need not be built to its end.
	before := s.tables.bytes()
	w, ok := s.tables.build(p, parsed, before+s.maxProfileBytes())
	if !ok || s.tables.bytes()-before+w.bytes > s.maxProfileBytes() {
		s.tables.release(w)
		return s.refuse(p, &s.stats.WindowsRefused, s.tooBig(p, parsed))
	}
	tooBig := s.add(w)
	if p.Kind() == exporter.KindCPU {
		s.reportService()
	}
	if tooBig {
		return s.refuse(p, nil, s.tooBig(p, parsed))
	}
	return nil
}

func (s *Store) tooBig(p *exporter.Profile, parsed *profile.Profile) error {
	return fmt.Errorf("store: a %s profile of %d samples does not fit into three quarters of %d bytes: raise WithMaxBytes", p.Kind(), len(parsed.Sample), s.maxBytes)
}

// maxProfileBytes is what the spans and the log of events leave to profiles.
func (s *Store) maxProfileBytes() int64 {
	return s.maxBytes - s.maxBytes/4 - max(memory.Alloc(maxEvents*eventSize), s.events.bytes())
}

// add makes w visible to queries, and evicts what does not fit. It reports whether
// that was w itself.
func (s *Store) add(w *window) (tooBig bool) {
	total, labelled := w.CPU()
	s.mu.Lock()
	if w.Kind == exporter.KindCPU {
		s.spans.ProfiledUntil(w.End.UnixNano())
	}
	w.SetLoose(s.spans.Join(w.Service, w.OfSpans()))
	s.events.add(w.event(EventReceived))
	// A window without labels may go before the older ones whose spans it
	// would count.
	if !w.unlabelled() || s.index.unlabelled == len(s.index.windows) {
		// The counts go from there to here where no query can see it.
		s.tables.setNames(w, s.spans.TakeCounts())
	}
	s.index.add(w)
	s.spans.Changed()
	s.stats.WindowsReceived++
	s.stats.CPUTime += total
	s.stats.CPUTimeLabelled += labelled
	s.mu.Unlock()
	return s.trim() == w
}

// trim evicts older windows until the rest fits, and returns the last that was
// evicted, nil for none.
func (s *Store) trim() (last *window) {
	for len(s.index.windows) > 0 || len(s.index.kept) > 0 {
		// The log of evictions takes its part.
		limit := s.maxProfileBytes()
		if s.bytes() <= limit {
			break
		}
		if s.index.keptBytes > limit/4 || len(s.index.windows) == 0 {
			s.evictKept()
		} else {
			last = s.evict(s.index.next(limit / 4))
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Bytes = s.bytes()
	return last
}

// bytes is the memory of the profiles.
func (s *Store) bytes() int64 { return s.index.bytes + s.tables.bytes() }

// evict lets the i-th window go, but for the samples of spans that are kept for
// longer.
func (s *Store) evict(i int) *window {
	w := s.index.windows[i]
	var rest *window
	s.mu.Lock()
	if kept := s.spans.Leave(w.OfSpans()); len(kept) > 0 {
		rest = w.part(kept)
		s.tables.retain(rest)
	}
	s.events.add(w.event(EventEvicted))
	s.index.remove(i, rest)
	s.spans.Changed()
	s.stats.WindowsEvicted++
	s.mu.Unlock()
	s.tables.release(w)
	return w
}

// evictKept lets the oldest samples go that were kept for longer.
func (s *Store) evictKept() {
	oldest := s.index.kept[0]
	s.mu.Lock()
	s.spans.LeaveAll(oldest.OfSpans())
	s.index.removeKept()
	s.spans.Changed()
	s.mu.Unlock()
	s.tables.release(oldest)
}

// refuse logs a profile that is not taken in, counts it unless count is nil, and
// returns err.
func (s *Store) refuse(p *exporter.Profile, count *int64, err error) error {
	s.mu.Lock()
	if count != nil {
		*count++
	}
	s.events.add(Event{Type: EventRefused, Kind: p.Kind(), Service: strings.Clone(ident.Service(p.Resource())), Text: err.Error()})
	s.mu.Unlock()
	// The text takes room.
	s.trim()
	return err
}

// reportService says once that spans and profiles name different services. They
// are joined all the same, but other tools join them by service.name.
func (s *Store) reportService() {
	service, ok := s.spans.LastService()
	if s.foreign || !ok || len(s.index.times) == 0 {
		return
	}
	if _, profiled := s.index.times[service]; profiled {
		return
	}
	if !s.named {
		// Profiles may take their resource from the first span: see SpanResource.
		s.named = true
		return
	}
	s.mu.Lock()
	s.foreign = true
	s.mu.Unlock()
	// The handler may shut down the profiler, which waits for this Export.
	go otel.Handle(fmt.Errorf("store: spans have service.name %q, CPU profiles %q: give the profiler the resource of the tracer provider, by WithResource",
		service, slices.Sorted(maps.Keys(s.index.times))))
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

// profileIDKey marks the spans that have a profile of their own.
const profileIDKey attribute.Key = "pyroscope.profile.id"

// SpanProcessor returns the processor that records spans: local roots, and
// spans with the attribute pyroscope.profile.id. Register it on the tracer
// provider. Its Shutdown and ForceFlush do nothing, so that the tracer provider
// and the profiler may be shut down in any order.
func (s *Store) SpanProcessor() sdktrace.SpanProcessor {
	return &spanProcessor{log: s.spans, origins: &s.origins}
}

type spanProcessor struct {
	log     *spanlog.Log
	origins *origins
}

var _ sdktrace.SpanProcessor = (*spanProcessor)(nil)

// OnStart remembers local roots only: other spans have their attributes later,
// and samples that name them by span_id find them when they end.
func (p *spanProcessor) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) {
	if localRoot(s.Parent()) {
		p.log.Start(s)
	}
}

func (p *spanProcessor) OnEnd(s sdktrace.ReadOnlySpan) {
	root, labelled := localRoot(s.Parent()), hasProfile(s.Attributes())
	if root {
		p.origins.count(s, labelled)
	}
	if root || labelled {
		p.log.End(s, root)
	}
}

func (p *spanProcessor) Shutdown(context.Context) error { return nil }

func (p *spanProcessor) ForceFlush(context.Context) error { return nil }

func localRoot(parent trace.SpanContext) bool { return !parent.IsValid() || parent.IsRemote() }

func hasProfile(attributes []attribute.KeyValue) bool {
	for i := range attributes {
		if attributes[i].Key == profileIDKey {
			return true
		}
	}
	return false
}
