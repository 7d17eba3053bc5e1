// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/store/internal/filter"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/journal"
	"github.com/spanprof/spanprof/store/internal/samples"
)

// Inside is what a test cannot see from outside: what the store holds in memory.
type Inside struct {
	// Nodes is the number of values in the tables, Tables their memory.
	Nodes  int
	Tables int64
	// KeptTables is the memory of what Kept has in the tables alone.
	KeptTables int64
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
		Nodes:  t.texts.Len() + t.mappings.Len() + t.functions.Len() + t.locations.Len() + t.frames.Len() + t.samples.Len() + t.names.Len(),
		Tables: t.bytes(), KeptTables: t.keptBytes(),

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
func (s *Store) EvictOldest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.index.eviction(s.maxProfileBytes())
	s.evictOne(e)
	s.index.finish(e)
	s.index.code = s.tables.code()
	s.spans.Changed()
}

// EvictKept lets all samples go that were kept for longer than their window.
func (s *Store) EvictKept() { s.evictKept(-1) }

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

// CheckParts cuts a window into two parts, which say what the window says.
func (s *Store) CheckParts(t *testing.T) {
	w := s.index.windows[0]
	var halves [2][]int
	for i := range w.Groups() {
		halves[i%2] = append(halves[i%2], i)
	}
	for _, half := range halves {
		part := part(1, []*window{w}, []samples.Cut{{Window: &w.Window, Groups: half}})
		for i, index := range half {
			got, want := samples.Group{Window: &part.Window, Index: i}, samples.Group{Window: &w.Window, Index: index}
			if got.ProfileID() != want.ProfileID() || got.SpanID() != want.SpanID() || got.TraceID() != want.TraceID() || got.Labels() != want.Labels() {
				t.Fatalf("group %d has other labels", index)
			}
			first, last := got.Bounds()
			from, to := want.Bounds()
			if last-first != to-from || part.Loose(i) != w.Loose(index) {
				t.Fatalf("group %d has %d samples, want %d", index, last-first, to-from)
			}
			for j := range to - from {
				if part.leaf(first+j) != w.leaf(from+j) {
					t.Fatalf("group %d has another stack", index)
				}
				for column := range w.Types {
					if part.Value(first+j, column) != w.Value(from+j, column) {
						t.Fatalf("group %d has other values", index)
					}
				}
			}
			for _, id := range []string{want.ProfileID(), want.SpanID()} {
				if id != "" && !slices.Contains(part.Find(nil, id, ident.ParseKey(id)), got) {
					t.Fatalf("group %d is not found by %q", index, id)
				}
			}
		}
	}
}

// Visit selects samples, and calls do between windows and between groups. It returns
// how many windows it looked at, and how many samples each group has.
func (s *Store) Visit(q Query, do func()) (looked int, counts []int64) {
	var matches []filter.Match
	f := q.filter(func(*Matcher) *filter.Tried { return nil })
	for _, w := range s.index.windows {
		do()
		looked++
		if m, ok := f.Match(&w.Window); ok {
			matches = append(matches, m)
		}
	}
	for _, m := range matches {
		for g := range m.Groups() {
			do()
			counts = append(counts, g.Count())
		}
	}
	return looked, counts
}

// Asked returns about how many label sets the matchers on labels were asked in a
// query, and how many there are.
func (s *Store) Asked(q Query) (asked, sets int) {
	type labels struct {
		set              *samples.LabelSet
		service, version string
	}
	f := q.filter(func(*Matcher) *filter.Tried { return nil })
	all := make(map[labels]bool)
	for _, w := range s.index.windows {
		if w.Kind != q.Kind {
			continue
		}
		for i := range w.Labellings() {
			all[labels{w.LabelsOf(i), w.Service, w.Version}] = true
		}
		f.Match(&w.Window)
	}
	return f.Asked(), len(all)
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

// Restored waits until what earlier processes have left is read.
func (s *Store) Restored() { <-s.directory.restored }

// RestoreHere opens a directory as New does, and reads it on this goroutine, between before and
// after. Nothing is written later.
func RestoreHere(path string, before, after func(*Store), opts ...Option) (*Store, error) {
	c, err := newConfig(append(opts, WithDirectory(path, 8<<20)))
	if err != nil {
		return nil, err
	}
	s := newStore(c)
	if s.directory, err = openDirectory(s, c.directory, c.directoryBytes); err != nil {
		return nil, err
	}
	before(s)
	s.directory.restore()
	after(s)
	s.shut = true
	s.reporter.Wait(context.Background())
	return s, s.directory.journal.Close()
}

// BreakTables has taking in a window panic, until mend is called; BreakProcesses that of
// spans too.
func (s *Store) BreakTables() (mend func()) {
	good := s.tables.samples
	s.tables.samples = nil
	return func() { s.tables.samples = good }
}

func (s *Store) BreakProcesses() (mend func()) {
	s.index.processes = []*Process{nil}
	return func() { s.index.processes = nil }
}

// WriteCounts writes the counts of windows, with so many names each, and returns how many parts
// of windows wait for another time.
func (s *Store) WriteCounts(names int, windows ...string) int {
	d := s.directory
	for _, name := range windows {
		w := journal.Window{File: name}
		for n := range names {
			w.Names = append(w.Names, journal.Count{Name: strconv.Itoa(n)})
		}
		d.counted = append(d.counted, w)
	}
	d.writeSpans(false)
	return len(d.counted)
}

// WithoutJournal has the worker write while the journal panics, and then as it does at the end.
func (s *Store) WithoutJournal(t *testing.T) {
	d := s.directory
	good := d.journal
	d.journal = new(journal.Journal)
	d.do(job{flushed: make(chan struct{})})
	d.journal = good
	if s.missed != 1 {
		t.Errorf("%d writes failed, want 1", s.missed)
	}
	d.do(job{flushed: make(chan struct{}), last: true})
}

// Remembers reports whether the queries of a view remember if a value meets a matcher, which
// must be an expression. Only the first answer for a value counts.
func Remembers(v View, m Matcher, value string) bool {
	opposite := map[MatchOp]MatchOp{MatchRegexp: MatchNotRegexp, MatchNotRegexp: MatchRegexp}
	other, err := NewMatcher(m.Label(), opposite[m.Op()], m.Value())
	// What is remembered is not tried again.
	return err == nil && v.(*view).tried(&m).MatchesAll(&other.condition, []string{value}) == m.Matches(value)
}

// HoldExemplars has queries wait that list exemplars, until release is called.
func (s *Store) HoldExemplars() (release func()) {
	s.exemplars <- struct{}{}
	return func() { <-s.exemplars }
}

// HoldCounts takes in the counts of windows before the windows come, and returns how many bytes
// they take and how many names found no room.
func HoldCounts(room int64, windows, names int) (held int64, left int) {
	var files []journal.File
	for i := range windows {
		files = append(files, journal.File{Name: strconv.Itoa(i)})
	}
	c := newEarlierCounts(room, files)
	for i := range windows {
		w := journal.Window{File: strconv.Itoa(i)}
		for j := range names {
			w.Names = append(w.Names, journal.Count{Name: fmt.Sprint(i, " ", j), Spans: 1})
		}
		c.add(nil, []journal.Window{w})
	}
	for _, of := range c.windows {
		held += of.Bytes
	}
	for i := range windows {
		var spans int64
		for _, n := range c.take(nil, strconv.Itoa(i)) {
			spans += n.Spans
		}
		if spans != int64(names) {
			return -1, 0
		}
	}
	if c.room != room {
		return -1, 0
	}
	return held, c.left
}
