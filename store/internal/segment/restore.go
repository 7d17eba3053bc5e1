// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/files"
	"github.com/spanprof/spanprof/internal/untrusted"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// maxFile bounds a file, zipped and not.
const maxFile = 128 << 20

// loader reads the segments of earlier processes.
type loader struct {
	room   *Room
	report func(error)
	own    *disk // nil if nothing is written
	owner  owner // of profiles without a resource
	stop   atomic.Bool
	done   chan struct{} // closed when all is restored
	// unreadable is the number of files and directories that could not be read. leftOut and
	// spansLeftOut are the numbers of profiles and of spans without room.
	unreadable, leftOut, spansLeftOut atomic.Int64
}

func newLoader(r *Room, report func(error), own *disk) *loader {
	l := &loader{room: r, own: own, done: make(chan struct{})}
	l.report = func(err error) {
		l.unreadable.Add(1)
		report(err)
	}
	return l
}

// load adds the newest segments to the room, until it is full. The oldest of them exceeds it by
// an eighth at most. Then load adds the kept sets. What has no room any more is dropped as
// usual, and spans with a rank stay.
func (l *loader) load(segments, kept []savedDir) {
	r := l.room
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		close(l.done)
		r.changed()
	}()
	most := r.maxBytes - r.Stats().Bytes
	var restored []*Segment
	var all Held
	for room := most; len(segments) > 0 && room > 0 && !l.stop.Load(); segments = segments[:len(segments)-1] {
		limit := min(room+r.maxBytes/8, r.maxBytes/2)
		if s := l.read(segments[len(segments)-1], limit, min(r.target, r.spanLimit(most-room))); s != nil {
			room -= s.bytes()
			all.Windows += len(s.windows)
			all.Spans += s.spans.listed
			restored = slices.Insert(restored, 0, s)
		}
	}
	for _, of := range segments {
		_, profiles := countIn(of.path)
		l.leftOut.Add(profiles)
	}
	for i, s := range restored {
		s.index = s.sum(restored[:i], true) // samples may be in the segment after the span
	}
	r.mu.Lock()
	r.sealed = slices.Concat(restored, r.sealed)
	for _, s := range restored {
		r.covered(s)
	}
	r.mu.Unlock()
	var merged []savedDir
	for _, of := range slices.Backward(kept) {
		if l.stop.Load() {
			return
		}
		before := l.unreadable.Load()
		if s := l.read(of, r.maxBytes/keptShare, r.maxBytes/keptShare); s != nil {
			all.Spans += l.keep(s)
		}
		if l.unreadable.Load() == before {
			merged = append(merged, of)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trim()
	_, here := r.held()
	l.leftOut.Add(int64(all.Windows - here.Windows))
	l.spansLeftOut.Add(int64(all.Spans - here.Spans))
	if r.disk != nil && len(merged) > 0 {
		r.disk.keep(r.kept, merged...)
	}
}

// keep adds what is kept of an earlier process, except spans that are there. Their rows are left
// out if they are kept too. It returns the number of the other spans.
func (l *loader) keep(s *Segment) (spans int) {
	r := l.room
	r.mu.Lock()
	defer r.mu.Unlock()
	here := idsOf(r.before())
	s.spans.list = slices.DeleteFunc(s.spans.list, func(e record) bool {
		if here[e.id] && !e.child {
			s.spans.listed--
		}
		return here[e.id]
	})
	if len(s.spans.list) == 0 {
		return 0
	}
	r.covered(s)
	k := r.keeper(s)
	if r.kept != nil {
		k.twice = idsOf([]*Segment{r.kept})
	}
	r.replaceKept(k, k.build(0))
	return s.spans.listed
}

// idsOf returns the spans of segments.
func idsOf(segments []*Segment) map[ident.Key]bool {
	ids := make(map[ident.Key]bool)
	for _, of := range segments {
		for i := range of.spans.list {
			ids[of.spans.list[i].id] = true
		}
	}
	return ids
}

// covered enters the CPU windows of an earlier process.
func (r *Room) covered(s *Segment) {
	r.changed()
	for _, w := range s.windows {
		if w.kind == exporter.KindCPU {
			r.profiledBy(w, true)
		}
	}
}

// read returns a segment without damaged files, nil if nothing can be read. If it exceeds
// room, it has the newest windows only. Its spans take a part of room.
func (l *loader) read(of savedDir, room, spans int64) *Segment {
	isOpen := strings.HasSuffix(of.path, opened)
	if _, err := os.Lstat(of.path); errors.Is(err, fs.ErrNotExist) { // its process runs, and sealed or removed it
		of.path, isOpen = strings.TrimSuffix(of.path, opened), false
		if _, err := os.Lstat(of.path); err != nil {
			return nil
		}
	}
	_, profiles := countIn(of.path)
	var windows []*savedWindow
	last := false
	b, err := files.Read(filepath.Join(of.path, spansFile), files.NoFollow, maxFile)
	if err == nil {
		err = readLines(b, func(line []byte) error {
			var r struct { // the spans are read once their samples are there
				Window *savedWindow
				Last   bool
			}
			err := json.Unmarshal(line, &r)
			if last = r.Last; r.Window != nil {
				windows = append(windows, r.Window)
			}
			return err
		})
	}
	switch {
	case !last && filepath.Base(of.path) == keptName+opened: // the one before is there
		return nil
	case isOpen && errors.Is(err, fs.ErrNotExist) && profiles <= 1: // a kill came before the first line
		return nil
	case err == nil && (!isOpen && !last || isOpen && profiles > int64(len(windows))+1):
		err = errors.New("its end is missing")
	}
	s := newSegment()
	s.earlier, s.owner = true, &l.owner
	for _, w := range slices.Backward(windows) {
		if s.bytes() > room {
			l.leftOut.Add(1)
			continue
		}
		s.owner.set(w.Service, w.Version)
		if err := l.readWindow(s, of.path, w); err != nil {
			l.report(fmt.Errorf("%s: %w", filepath.Join(of.path, w.File), err))
		}
	}
	err = cmp.Or(err, readLines(b, func(line []byte) error {
		var r savedRecord
		if err := json.Unmarshal(line, &r); err != nil || r.Span == nil {
			return err
		}
		e, ok := r.Span.ended(l.room.keys)
		if !ok || !s.spans.add(&e) {
			return nil
		}
		s.owner.set(e.Service, "")
		if s.spans.bytes() > spans { // the memory dropped some too
			s.spans.dropHalf(math.MaxInt64, l.room.keys)
		}
		return nil
	}))
	if err != nil {
		l.report(fmt.Errorf("%s: %w", filepath.Join(of.path, spansFile), err))
	}
	if len(s.windows) == 0 && len(s.spans.list) == 0 {
		return nil
	}
	slices.Reverse(s.windows)
	l.spansLeftOut.Add(s.spans.evicted)
	return s.seal(nil)
}

func (l *loader) readWindow(s *Segment, dir string, w *savedWindow) error {
	if w.File != filepath.Base(w.File) || w.End < w.Start {
		return errors.New("its line is damaged")
	}
	b, err := files.Read(filepath.Join(dir, w.File), files.NoFollow, maxFile)
	if err != nil {
		return err
	}
	parsed, err := untrusted.Profile(b, maxFile)
	if err != nil {
		return err
	}
	of := resource.NewSchemaless(attribute.String("service.name", w.Service), attribute.String("service.version", w.Version))
	p := exporter.NewParsedProfile(exporter.Window{
		Kind: w.Kind, Start: time.Unix(0, w.Start), Duration: time.Duration(w.End - w.Start), Resource: of,
	}, parsed)
	built := s.build(p, parsed, l.room.maxBytes)
	if built == nil {
		return ErrTooLarge
	}
	s.addWindow(built)
	s.markSampled(built)
	return nil
}
