// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"slices"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/store/internal/ident"
)

// Inside is what a test cannot see from outside: what the store holds in memory.
type Inside struct {
	// Nodes is the number of values in the tables, Tables their memory.
	Nodes  int
	Tables int64
	// Windows, Kept and Services are how many the index has, Index their
	// memory, KeptBytes that of Kept in it.
	Windows, Kept, Services int
	Index, KeptBytes        int64
	// Unlabelled is the number of windows without labels, UnlabelledBytes
	// their memory, of at most MaxProfileBytes for all.
	Unlabelled                       int
	UnlabelledBytes, MaxProfileBytes int64
	// Spans is the memory of spans.
	Spans int64
	// Oldest is the memory of the oldest window.
	Oldest int64
}

// Look looks inside.
func (s *Store) Look() Inside {
	t := s.tables
	inside := Inside{
		Nodes:  t.texts.Len() + t.mappings.Len() + t.functions.Len() + t.locations.Len() + t.frames.Len() + t.labels.Len() + t.names.Len(),
		Tables: t.bytes(),

		Windows: len(s.index.windows), Kept: len(s.index.kept), Services: len(s.index.times),
		Index: s.index.bytes, KeptBytes: s.index.keptBytes,
		Unlabelled: s.index.unlabelled, UnlabelledBytes: s.index.unlabelledBytes, MaxProfileBytes: s.maxProfileBytes(),
		Spans: s.spans.Totals().Bytes,
	}
	if len(s.index.windows) > 0 {
		inside.Oldest = s.index.windows[0].bytes
	}
	return inside
}

// EvictOldest lets the window go that came first.
func (s *Store) EvictOldest() { s.evict(0) }

// EvictKept lets the oldest samples go that were kept for longer than their window.
func (s *Store) EvictKept() { s.evictKept() }

// ask answers one query through a view of its own.
func ask[A any](s *Store, query func(View) (A, error)) (A, error) {
	v, err := s.View(context.Background())
	if err != nil {
		return *new(A), err
	}
	defer v.Close()
	return query(v)
}

// must is ask for queries that cannot fail.
func must[A any](s *Store, query func(View) (A, error)) A {
	a, err := ask(s, query)
	if err != nil {
		panic(err)
	}
	return a
}

func (s *Store) Spans(q SpanQuery) []Span {
	return must(s, func(v View) ([]Span, error) { return v.Spans(q) })
}

func (s *Store) Span(id string) (span Span, ok bool) {
	must(s, func(v View) (_ any, err error) { span, ok, err = v.Span(id); return nil, err })
	return span, ok
}

func (s *Store) NameTotals() []NameTotal { return must(s, View.NameTotals) }

func (s *Store) Select(q Query) (*Selection, error) {
	return ask(s, func(v View) (*Selection, error) { return v.Select(q) })
}

func (s *Store) Profile(q Query) (*profile.Profile, error) {
	return ask(s, func(v View) (*profile.Profile, error) { return v.Profile(q) })
}

func (s *Store) Timeline(q Query, n int) (*Timeline, error) {
	return ask(s, func(v View) (*Timeline, error) { return v.Timeline(q, n) })
}

func (s *Store) Kinds(q Query) []KindTotal {
	return must(s, func(v View) ([]KindTotal, error) { return v.Kinds(q) })
}

func (s *Store) Windows(q WindowQuery) []WindowInfo {
	return must(s, func(v View) ([]WindowInfo, error) { return v.Windows(q) })
}

func (s *Store) Log() []Event {
	return must(s, func(v View) ([]Event, error) { return v.(Live).Log(), nil })
}

func (s *Store) Generation() uint64 {
	return must(s, func(v View) (uint64, error) { return v.(Live).Generation(), nil })
}

// CheckParts cuts a window into two parts, which say what the window says.
func (s *Store) CheckParts(t *testing.T) {
	w := s.index.windows[0]
	var halves [2][]int
	for i := range w.groups {
		halves[i%2] = append(halves[i%2], i)
	}
	for _, half := range halves {
		part := w.part(half)
		for i, index := range half {
			got, want := group{part, i}, group{w, index}
			if got.profileID() != want.profileID() || got.spanID() != want.spanID() || got.traceID() != want.traceID() || got.labels() != want.labels() {
				t.Fatalf("group %d has other labels", index)
			}
			first, last := got.bounds()
			from, to := want.bounds()
			if last-first != to-from || part.isLoose(i) != w.isLoose(index) {
				t.Fatalf("group %d has %d samples, want %d", index, last-first, to-from)
			}
			for j := range to - from {
				if part.frames[first+j] != w.frames[from+j] {
					t.Fatalf("group %d has another stack", index)
				}
				for column := range w.types {
					if part.value(first+j, column) != w.value(from+j, column) {
						t.Fatalf("group %d has other values", index)
					}
				}
			}
			for _, id := range []string{want.profileID(), want.spanID()} {
				if id != "" && !slices.Contains(part.appendGroups(nil, id, ident.ParseKey(id)), got) {
					t.Fatalf("group %d is not found by %q", index, id)
				}
			}
		}
	}
}

// Visit selects samples, and calls do between windows and between groups. It returns
// how many windows it looked at, and how many samples each group has.
func (s *Store) Visit(q Query, do func()) (looked int, counts []int64) {
	h := s.index.held
	for _, m := range q.matches(nil, func(yield func(*window) bool) {
		for _, w := range h.windows {
			do()
			looked++
			yield(w)
		}
	}) {
		for g := range m.groups() {
			do()
			counts = append(counts, g.count())
		}
	}
	return looked, counts
}

// Asked returns about how many label sets the matchers on labels were asked in a
// query, and how many there are.
func (s *Store) Asked(q Query) (asked, sets int) {
	h := s.index.held
	all := make(map[labelsOf]bool)
	for w := range ofKind(h.windows, q.Kind) {
		for _, l := range w.labellings {
			all[labelsOf{l.set, w.service, w.version}] = true
		}
	}
	return len(q.matches(slices.Values(h.kept), ofKind(h.windows, q.Kind))[0].matcher.answers), len(all)
}

// ForgetServices takes all services from the index, those whose windows ended first
// at first, and returns their names.
func (s *Store) ForgetServices() (services []string) {
	for len(s.index.times) > 0 {
		services = append(services, s.index.stalest())
		s.index.setTimes(s.index.stalest(), nil)
	}
	return services
}
