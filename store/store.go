// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/env"
	"github.com/spanprof/spanprof/internal/report"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// Store holds the newest spans and profiles and joins them by id. It is safe
// for concurrent use; New makes it.
type Store struct {
	maxBytes int64
	spans    *spanlog.Log
	reporter report.Reporter

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
	// directory is nil where there is none, missed counts the windows that found no place
	// in its queue.
	directory *directory
	missed    int64
	// viewsMu guards last, the moment of the newest view while any is open.
	viewsMu sync.Mutex
	last    *moment

	// exemplars has room for who makes lastExemplars or reads it.
	exemplars     chan struct{}
	lastExemplars weak.Pointer[exemplarList]
}

var _ exporter.Exporter = (*Store)(nil)

// New returns an empty store. An error names the option that is wrong.
func New(opts ...Option) (*Store, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	s := newStore(c)
	if c.directory != "" && !env.Disabled() {
		if s.directory, err = openDirectory(s, c.directory, c.directoryBytes); err != nil {
			return nil, err
		}
		go s.directory.run()
	}
	return s, nil
}

func newStore(c config) *Store {
	s := &Store{
		maxBytes: c.maxBytes,
		tables:   newTables(),
		index:    newIndex(),

		exemplars: make(chan struct{}, 1),
	}
	s.spans = spanlog.New(spanlog.Config{
		MaxBytes: c.maxBytes / 4, MinDuration: c.minDuration, Fraction: c.fraction, PerName: c.spansPerName,
		Keys: c.attributeKeys(), Root: s.origins.count,
	})
	return s
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
	if s.directory != nil {
		s.directory.add(p, w)
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
		s.spans.ProfiledUntil(ident.UnixNano(w.End))
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
	s.index.code = s.tables.code()
	s.spans.Changed()
	s.stats.WindowsReceived++
	s.stats.CPUTime += total
	s.stats.CPUTimeLabelled += labelled
	s.mu.Unlock()
	return s.trim() == w
}

// trim evicts older windows until the rest fits, and returns the last that was
// evicted, nil for none. Samples of spans that nothing keeps any more go before any
// window does, and all that is kept goes before the newest window.
func (s *Store) trim() (last *window) {
	for swept := false; len(s.index.windows) > 0 || len(s.index.kept) > 0; {
		// The log of evictions takes its part.
		limit := s.maxProfileBytes()
		if s.bytes() <= limit {
			break
		}
		switch share := limit / 4; {
		case !swept:
			swept = true
			s.evictKept(math.MaxInt64)
		case s.keptBytes() > share:
			// Some more, so that it is not for each window.
			s.evictKept(share - share/16)
		case len(s.index.windows) < 2 && len(s.index.kept) > 0:
			s.evictKept(s.keptBytes() / 2)
		default:
			last = s.evict(limit)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes := s.bytes(); bytes != s.stats.Bytes {
		s.stats.Bytes = bytes
		s.spans.Changed()
	}
	return last
}

// bytes is the memory of the profiles.
func (s *Store) bytes() int64 { return s.index.bytes + s.tables.bytes() }

// keptBytes is the memory of what is kept for longer than its windows, with what nothing
// else has in the tables.
func (s *Store) keptBytes() int64 { return s.index.keptBytes + s.tables.keptBytes() }

// evictKept lets samples go that were kept for longer: those of spans that are no longer
// kept, and then those of the least worth, until the rest takes that many bytes.
func (s *Store) evictKept(limit int64) {
	owned := make(map[ident.Key][]*window)
	var owners []ident.Key
	for _, w := range s.index.kept {
		if owned[w.owner] == nil {
			owners = append(owners, w.owner)
		}
		owned[w.owner] = append(owned[w.owner], w)
	}
	worth := worthOf(owners, s.spans.Ranks(owners), owned)
	var (
		without []*window
		freed   int64
	)
	s.mu.Lock()
	for _, of := range worth {
		if of.rank < spanlog.NoRank && s.keptBytes()-freed <= limit {
			break
		}
		for _, w := range owned[of.owner] {
			s.spans.LeaveAll(w.OfSpans())
			s.tables.releaseKept(w)
			// The index counts it when all are known.
			freed += w.cost()
			without = append(without, w)
		}
	}
	if len(without) > 0 {
		s.index.keep(nil, without)
		s.index.code = s.tables.code()
		s.spans.Changed()
	}
	s.mu.Unlock()
}

// refuse logs a profile that is not taken in, counts it unless count is nil, and
// returns err.
func (s *Store) refuse(p *exporter.Profile, count *int64, err error) error {
	s.mu.Lock()
	if count != nil {
		*count++
	}
	s.events.add(Event{Type: EventRefused, Kind: p.Kind(), Service: strings.Clone(ident.Service(p.Resource())), Text: err.Error()})
	s.spans.Changed()
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
	s.reporter.Report(fmt.Errorf("store: spans have service.name %q, CPU profiles %q: give the profiler the resource of the tracer provider, by WithResource",
		service, slices.Sorted(maps.Keys(s.index.times))))
}

// ForceFlush waits until what Export took is in the directory, if there is one. It fails
// with exporter.ErrShutdown after Shutdown.
func (s *Store) ForceFlush(ctx context.Context) error {
	s.ingest.Lock()
	shut := s.shut
	s.ingest.Unlock()
	switch {
	case shut:
		return exporter.ErrShutdown
	case s.directory != nil:
		return s.directory.flush(ctx, false)
	}
	return nil
}

// Shutdown lets no more profiles in. Queries still answer, and the span
// processor still records. The spans that have ended go to the directory, if there is one.
// It waits until otel.Handle has returned from the last reports, for half a second at most.
func (s *Store) Shutdown(ctx context.Context) error {
	s.ingest.Lock()
	shut := s.shut
	s.shut = true
	s.ingest.Unlock()
	if shut {
		return nil
	}
	var err error
	if s.directory != nil {
		err = s.directory.shutdown(ctx)
	}
	s.reporter.Wait(ctx)
	return err
}
