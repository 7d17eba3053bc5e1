// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/segment"
)

// Source is anything with spans and profiles that can be shown. It is safe for concurrent use.
type Source interface {
	// View opens a view for one request about [from, until); a zero time means no bound.
	// A source that cannot be searched as a whole answers about this time. A Store answers
	// about all that it holds. The questions of the view end with ctx.
	View(ctx context.Context, from, until time.Time) (View, error)
}

var _ Source = (*Store)(nil)

// View answers the questions of one request, all about the moment at which it was opened. It
// need not be safe for concurrent use. Answers stay valid after Close. A source without some
// data answers with zero values, and Info has what it lacks.
type View interface {
	// Spans returns the spans that q selects, with the manual exemplars held.
	Spans(q SpanQuery) (SpanList, error)
	// Samples returns the sums of the samples that q selects. The error is
	// ErrUnknownSampleType for a SampleType that the kind does not have.
	Samples(q Query) (*Samples, error)
	// Windows returns the windows held, the oldest first.
	Windows() ([]WindowInfo, error)
	// Info describes the source. Its notes are about the questions so far.
	Info() Info
	// Close ends the view. It must be called, and no other method after it.
	Close()
}

// Info describes a source.
type Info struct {
	// Generation increases with each change. While it stays, so do the answers to equal
	// questions, unless spans run.
	Generation uint64
	Stats      Stats
	// Notes are remarks about the answers: sentences without a capital and a full stop.
	Notes []string
	Lacks Lacks
}

// Lacks is a set of what a source lacks.
type Lacks uint8

// What a source may lack.
const (
	// LacksUpdates: it receives nothing while it is read. Stats are empty.
	LacksUpdates Lacks = 1 << iota
	// LacksRecords: it has no records of spans, but the samples of them. Their durations,
	// attributes, errors and parents are unknown.
	LacksRecords
	// LacksWindows: it cannot be searched as a whole, and does not list its profiles.
	// Windows has one entry for each kind, service and version in the time of the view.
	LacksWindows
)

// Has reports whether all of some things are in the set.
func (l Lacks) Has(all Lacks) bool { return l&all == all }

// WindowInfo is a profile that is held.
type WindowInfo struct {
	Kind                    exporter.Kind
	Service, ServiceVersion string
	Start                   time.Time
	Duration                time.Duration // 0 for a snapshot
	Samples, Bytes          int64
	Kernel                  bool // an eBPF agent took it
	Earlier                 bool // of an earlier process: see WithDirectory
}

// view is the View of a store.
type view struct {
	held  *segment.View
	ctx   context.Context
	store *Store
	stats Stats
}

// View opens a view of all that the store holds now. It copies references only.
func (s *Store) View(ctx context.Context, _, _ time.Time) (View, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.intake.Drain()
	if runs := len(s.running.list()) > 0; s.runs.Swap(runs) != runs && runs {
		s.room.Changed() // spans run, and none did in the last view
	}
	v := s.room.View()
	return &view{v, ctx, s, s.stats(v.Stats)}, nil
}

func (v *view) Close() {}

// Info implements View.
func (v *view) Info() Info {
	return Info{Generation: v.held.Generation, Stats: v.stats, Lacks: v.store.lacks}
}

// Windows implements View.
func (v *view) Windows() ([]WindowInfo, error) {
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	var list []WindowInfo
	for _, w := range v.held.Windows() {
		list = append(list, WindowInfo(w))
	}
	slices.SortStableFunc(list, func(a, b WindowInfo) int { return a.Start.Compare(b.Start) })
	return list, nil
}

// names returns the sums by name, with the manual exemplars.
func (v *view) names() ([]NameTotal, error) {
	sums, err := v.held.Names(v.ctx)
	if err != nil {
		return nil, err
	}
	exemplars, err := v.exemplars(&SpanQuery{})
	if err != nil {
		return nil, err
	}
	type key struct{ service, name string }
	manual := make(map[key]int)
	for i := range exemplars {
		if x := &exemplars[i]; x.Name != "" {
			manual[key{x.Service, x.Name}]++
		}
	}
	var list []NameTotal
	for _, s := range sums {
		of := key{s.Service, s.Name}
		list = append(list, NameTotal{
			Service: s.Service, Name: s.Name, Label: s.Label, Spans: int(s.Spans) + manual[of], Errors: int(s.Errors),
			Duration: time.Duration(s.Duration), MaxDuration: time.Duration(s.MaxDuration), CPU: time.Duration(s.CPU), CPUSamples: s.Samples,
		})
		delete(manual, of)
	}
	for of, n := range manual { // with samples of other kinds only
		list = append(list, NameTotal{Service: of.service, Name: of.name, Label: of.name, Spans: n})
	}
	slices.SortFunc(list, func(a, b NameTotal) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Service, b.Service))
	})
	return list, nil
}

// begin waits until the store allows one more question over all rows or spans. end must
// follow if it returns nil.
func (v *view) begin() error {
	if err := v.ctx.Err(); err != nil {
		return err
	}
	select {
	case v.store.asking <- struct{}{}:
		return nil
	case <-v.ctx.Done():
		return v.ctx.Err()
	}
}

func (v *view) end() { <-v.store.asking }

// bounds returns a time in nanoseconds since 1970, as segment has it.
func bounds(from, until time.Time) (int64, int64) {
	first, last := int64(math.MinInt64), int64(0)
	if !from.IsZero() {
		first = ident.UnixNano(from)
	}
	if !until.IsZero() {
		if last = ident.UnixNano(until); last == ident.Latest {
			last = math.MaxInt64
		}
	}
	return first, last
}
