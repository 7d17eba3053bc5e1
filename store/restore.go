// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"errors"
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
	defer func() {
		close(d.restored)
		d.store.spans.Changed() // Stats say so
	}()
	for _, err := range d.journal.Damaged() {
		d.report(err)
	}
	files := d.journal.Files()
	d.tellApart()
	names := newEarlierCounts(d.store.maxBytes/16, files)
	room := d.restoreKeptSpans(files)
	var older []journal.File
	full := false
	for _, f := range files {
		if !d.between() {
			return
		}
		switch f.Type {
		case journal.Spans:
			switch {
			case room:
				_, room = d.restoreSpans(f, names)
			case !full: // windows keep their counts by name where spans find no room
				d.readCounts(f, names)
			}
			if !room {
				d.leave(leftOut{spanFiles: 1})
			}
		case journal.KeptSamples:
			older = append(older, f)
		case journal.Profile:
			if !full {
				full = !d.restoreWindow(f, names)
			}
			if full {
				names.close() // older windows are not restored
				d.leave(leftOut{windows: 1})
				older = append(older, f)
			}
		}
	}
	names.close()
	d.leave(leftOut{names: names.left})
	d.restoreSamples(older)
}

// leave counts what memory has no room for.
func (d *directory) leave(more leftOut) {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	d.leftOut.windows += more.windows
	d.leftOut.spanFiles += more.spanFiles
	d.leftOut.names += more.names
	d.leftOut.processes += more.processes
}

// contained calls what reads a file and takes in what is in it. The decoders are not ours:
// a file that makes them panic is set aside.
func (d *directory) contained(f journal.File, read func() error) bool {
	returned := false
	err := report.Contain(func() error {
		err := read()
		returned = true
		return err
	})
	if !returned {
		err = d.journal.SetAside(f, err)
	}
	if err != nil && !errors.Is(err, journal.Gone) {
		d.report(err)
	}
	return err == nil
}

// restoreKeptSpans takes in the spans that outlive others. It returns false where there is no
// more room.
func (d *directory) restoreKeptSpans(files []journal.File) (room bool) {
	room = true
	held := make(map[int][]ident.Key)
	for i, f := range files {
		if f.Type != journal.KeptSpans {
			continue
		}
		if !d.between() {
			return false
		}
		if room {
			if held[i], room = d.restoreSpans(f, nil); held[i] == nil {
				delete(held, i)
			}
		}
		if !room {
			d.leave(leftOut{spanFiles: 1})
		}
	}
	// What has no place in memory stays on the disk.
	for i, keys := range held {
		if d.store.spans.Settled(keys) {
			d.journal.Taken(files[i])
		}
	}
	return room
}

// restoreSpans takes in the spans of a file, and adds the counts of windows to names. It
// returns the spans if all of them were taken in, and room as false where there is no more.
func (d *directory) restoreSpans(f journal.File, names *earlierCounts) (held []ident.Key, room bool) {
	room = true
	read := d.contained(f, func() error {
		windows, spans, err := d.journal.ReadSpans(f)
		if err != nil {
			return err
		}
		names.add(f.Run, windows)
		list := make([]spanlog.Restored, 0, len(spans))
		for i := range spans {
			number := d.processOf(f.Run)
			if p := spans[i].Process; p != nil {
				number = d.otherProcess(*p)
			}
			if r, ok := restored(&spans[i], number); ok {
				list, held = append(list, r), append(held, ident.NewKey(r.SpanID))
			}
		}
		if len(list) < len(spans) {
			held = nil
		}
		slices.SortStableFunc(list, func(a, b spanlog.Restored) int {
			return cmp.Compare(b.Start+b.Duration, a.Start+a.Duration)
		})
		room = d.store.spans.Restore(list)
		return nil
	})
	if !read || !room {
		held = nil
	}
	return held, room
}

// readCounts adds the counts of windows in a file of spans to names.
func (d *directory) readCounts(f journal.File, names *earlierCounts) {
	d.contained(f, func() error {
		windows, err := d.journal.ReadCounts(f)
		names.add(f.Run, windows)
		return err
	})
}

// restoreWindow takes in a window, as the oldest that there is. It returns false where
// there is no more room for one: a quarter is left to what comes, and to the samples of
// older windows.
func (d *directory) restoreWindow(f journal.File, names *earlierCounts) (room bool) {
	s := d.store
	limit := func() int64 { return s.maxProfileBytes() / 4 * 3 }
	return d.takeWindow(f, limit, func(w *window) {
		s.tables.setNames(w, names.take(f.Run, f.Name))
		w.SetLoose(s.spans.JoinEarlier(w.OfSpans()))
		s.index.prepend(w)
	})
}

// takeWindow builds the window of a file, and calls take under the locks. It returns false
// where all profiles would take more bytes with it than limit says.
func (d *directory) takeWindow(f journal.File, limit func() int64, take func(*window)) (room bool) {
	room = true
	d.contained(f, func() error {
		p, err := d.journal.ReadProfile(f)
		number := d.processOf(f.Run)
		if err != nil {
			return err
		}
		s := d.store
		s.ingest.Lock()
		defer s.ingest.Unlock()
		w := s.buildEarlier(f.Run, p, number, limit())
		if room = w != nil; !room {
			return nil
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		take(w)
		s.changedByEarlier()
		return nil
	})
	return room
}

// changedByEarlier brings what is derived up to date. The caller holds the locks.
func (s *Store) changedByEarlier() {
	s.index.code = s.tables.code()
	s.stats.Bytes = s.bytes()
	s.spans.Changed()
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

// restoreSamples takes in, of windows for which there is no room, the samples of the spans
// that outlive others.
func (d *directory) restoreSamples(files []journal.File) {
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
		if !d.between() || !d.keepEarlier(f) {
			return
		}
	}
}

// keepEarlier keeps the samples of a window whose spans outlive others. It returns false
// where there is no more room.
func (d *directory) keepEarlier(f journal.File) (room bool) {
	s := d.store
	limit := func() int64 {
		if s.keptBytes() > s.maxProfileBytes()/8 {
			return 0
		}
		return s.maxProfileBytes()
	}
	return d.takeWindow(f, limit, func(w *window) {
		s.keep(w, s.spans.KeepEarlier(w.OfSpans()))
		s.tables.release(w) // most of it
	})
}
