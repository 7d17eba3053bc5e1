// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/report"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/journal"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// restore takes in what earlier processes have left, as far as there is room: the spans
// that outlive others; then spans and windows, the newest first; then, of older windows,
// the samples of those spans.
func (d *directory) restore() {
	defer close(d.restored)
	for _, err := range d.journal.Damaged() {
		d.report(err)
	}
	files := d.journal.Files()
	names := make(map[namesKey][]journal.Count)
	room := d.restoreSpans(files, journal.KeptSpans, names)
	var older []journal.File
	full := false
	for _, f := range files {
		if !d.between() {
			return
		}
		switch f.Type {
		case journal.Spans:
			if room {
				room = d.restoreSpans([]journal.File{f}, journal.Spans, names)
			}
		case journal.KeptSamples:
			older = append(older, f)
		case journal.Profile:
			if full {
				older = append(older, f)
				continue
			}
			p := d.readProfile(f)
			if p == nil {
				continue
			}
			if full = !d.restoreWindow(f, p, names[namesKey{f.Run, f.Name}]); full {
				older = append(older, f)
			}
		}
	}
	d.readAll = d.restoreKept(older)
}

// namesKey is the file of a window.
type namesKey struct {
	run  *journal.Run
	file string
}

// contained calls what reads a file. The decoders are not ours: a panic is an error.
func (d *directory) contained(read func() error) bool {
	err := report.Contain(read)
	if err != nil && !errors.Is(err, journal.Gone) {
		d.report(err)
	}
	return err == nil
}

func (d *directory) readProfile(f journal.File) (p *exporter.Profile) {
	if !d.contained(func() (err error) {
		p, err = d.journal.ReadProfile(f)
		return err
	}) {
		return nil
	}
	return p
}

// restoreSpans takes in the spans of the files of a type, and remembers the counts of
// windows. It returns false where there is no more room.
func (d *directory) restoreSpans(files []journal.File, of journal.FileType, names map[namesKey][]journal.Count) bool {
	for _, f := range files {
		if f.Type != of {
			continue
		}
		if !d.between() {
			return false
		}
		var (
			windows []journal.Window
			spans   []journal.Span
		)
		if !d.contained(func() (err error) {
			windows, spans, err = d.journal.ReadSpans(f)
			return err
		}) {
			continue
		}
		for _, w := range windows {
			names[namesKey{f.Run, w.File}] = w.Names
		}
		list := make([]spanlog.Restored, 0, len(spans))
		for i := range spans {
			number := d.processOf(f.Run)
			if p := spans[i].Process; p != nil {
				number = d.store.number(*p)
			}
			if r, ok := restored(&spans[i], number); ok && number != 0 {
				list = append(list, r)
			}
		}
		slices.SortStableFunc(list, func(a, b spanlog.Restored) int {
			return cmp.Compare(b.Start+b.Duration, a.Start+a.Duration)
		})
		if !d.store.spans.Restore(list) {
			return false
		}
	}
	return true
}

// processOf returns the number of the process of a run.
func (d *directory) processOf(r *journal.Run) uint8 {
	n, ok := d.processes[r]
	if !ok {
		n = d.store.number(r.Process)
		d.processes[r] = n
	}
	return n
}

// restoreWindow takes in a window, as the oldest that there is. It returns false where
// there is no more room for one: a quarter is left to what comes, and to the samples of
// older windows.
func (d *directory) restoreWindow(f journal.File, p *exporter.Profile, names []journal.Count) bool {
	number := d.processOf(f.Run)
	if number == 0 {
		return true
	}
	s := d.store
	s.ingest.Lock()
	defer s.ingest.Unlock()
	w := s.buildEarlier(f.Run, p, number, s.maxProfileBytes()/4*3)
	if w == nil {
		return false
	}
	s.tables.setNames(w, counts(names))
	s.mu.Lock()
	w.SetLoose(s.spans.JoinEarlier(w.OfSpans()))
	s.index.prepend(w)
	s.index.code = s.tables.code()
	s.stats.Bytes = s.bytes()
	s.spans.Changed()
	s.mu.Unlock()
	return true
}

// buildEarlier returns a window of an earlier process, nil where all profiles would take
// more than limit bytes with it. The caller holds s.ingest.
func (s *Store) buildEarlier(of *journal.Run, p *exporter.Profile, number uint8, limit int64) *window {
	parsed, err := p.Parsed()
	if err != nil || s.shut {
		return nil
	}
	used := s.bytes()
	if used >= limit {
		return nil
	}
	// What is in the tables and in the index counts.
	w, ok := s.tables.build(p, parsed, s.tables.bytes()+limit-used)
	if !ok || s.bytes()+w.cost() > limit {
		s.tables.release(w)
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	w.process = s.index.process(number)
	w.age = math.MaxInt32 - min(of.Number, math.MaxInt32-1)
	return w
}

// restoreKept takes in, of windows for which there is no room, the samples of the spans
// that outlive others.
// It returns false if it ended early.
func (d *directory) restoreKept(files []journal.File) bool {
	missing := d.store.spans.MissingEarlier()
	type series struct {
		run  *journal.Run
		kind exporter.Kind
	}
	// The files are newest first: a window ends before the next one begins.
	next := make(map[series]int64)
	for _, f := range files {
		of := series{f.Run, f.Kind}
		start := ident.UnixNano(f.Start)
		end, ok := next[of]
		if !ok {
			end = ident.Latest
		}
		if f.Type == journal.Profile {
			next[of] = start
		}
		if !slices.ContainsFunc(missing, func(r spanlog.Ran) bool { return r.End >= start && (f.Type == journal.KeptSamples || r.Start <= end) }) {
			continue
		}
		if !d.between() {
			return false
		}
		if p := d.readProfile(f); p != nil && !d.keepEarlier(f, p) {
			break
		}
	}
	return true
}

// keepEarlier keeps the samples of a window whose spans outlive others. It returns false
// where there is no more room.
func (d *directory) keepEarlier(f journal.File, p *exporter.Profile) bool {
	number := d.processOf(f.Run)
	if number == 0 {
		return true
	}
	s := d.store
	s.ingest.Lock()
	defer s.ingest.Unlock()
	if s.keptBytes() > s.maxProfileBytes()/8 {
		return false
	}
	// Most of it goes again at once.
	w := s.buildEarlier(f.Run, p, number, s.maxProfileBytes())
	if w == nil {
		return false
	}
	s.mu.Lock()
	s.keep(w, s.spans.KeepEarlier(w.OfSpans()))
	s.index.code = s.tables.code()
	s.stats.Bytes = s.bytes()
	s.spans.Changed()
	s.mu.Unlock()
	s.tables.release(w)
	return true
}

// ErrNoRuns is the error of OpenDirectory for a directory that no process has written as
// WithDirectory does.
var ErrNoRuns = journal.ErrNoRuns

// OpenDirectory returns a store that holds what processes have left in a directory, those
// too that run: as much as WithMaxBytes has room for. Nothing in the directory is changed,
// and the store takes in nothing more. left tells of each file that could not be read. The
// error names the directory, or the option that is wrong.
func OpenDirectory(path string, left func(error), opts ...Option) (*Store, error) {
	c, err := newConfig(opts)
	if err == nil && c.directory != "" {
		err = errors.New("store: OpenDirectory writes nothing: leave WithDirectory out")
	}
	if err != nil {
		return nil, err
	}
	s := newStore(c)
	d := &directory{store: s, path: path, stop: make(chan struct{}), restored: make(chan struct{}), processes: make(map[*journal.Run]uint8)}
	if d.journal, err = journal.Read(path); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	d.left = left
	s.directory = d
	d.restore()
	s.shut = true
	return s, nil
}
