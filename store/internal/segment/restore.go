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
	// processes and owners are interned.
	processes map[Process]*Process
	owners    map[*Process]*owner
	stop      atomic.Bool
	done      chan struct{} // closed when all is restored
	// unreadable is the number of files and directories that could not be read, leftOut
	// the number of profiles without room.
	unreadable, leftOut atomic.Int64
}

func newLoader(r *Room, report func(error), own *disk) *loader {
	l := &loader{room: r, own: own, processes: make(map[Process]*Process), owners: make(map[*Process]*owner), done: make(chan struct{})}
	l.report = func(err error) {
		l.unreadable.Add(1)
		report(err)
	}
	return l
}

// process returns the pointer that stands for a process.
func (l *loader) process(p Process) *Process {
	key := Process{Started: p.Started, PID: p.PID}
	if l.processes[key] == nil {
		l.processes[key] = &p
		l.owners[l.processes[key]] = &owner{}
	}
	return l.processes[key]
}

// load adds the newest segments to the room, as many as fit into three quarters of its
// bytes. Then it adds the kept sets.
func (l *loader) load(segments, kept []savedDir) {
	r := l.room
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		close(l.done)
		r.changed()
	}()
	room := r.maxBytes*3/4 - r.Bytes()
	var restored, keptSets []*Segment
	for _, of := range slices.Backward(segments) {
		if l.stop.Load() {
			return
		}
		if room <= minSegment/2 {
			l.leftOut.Add(profilesIn(of.path))
			continue
		}
		if s := l.read(of, room, min(r.target, r.spanLimit(r.maxBytes*3/4-room))); s != nil {
			s = s.seal(nil)
			room -= s.bytes()
			restored = slices.Insert(restored, 0, s)
		}
	}
	for i, s := range restored {
		s.index = s.sum(restored[:i], true) // samples may be in the segment after the span
	}
	var merged []savedDir
	for _, of := range slices.Backward(kept) {
		if l.stop.Load() {
			return
		}
		before := l.unreadable.Load()
		if s := l.read(of, r.maxBytes/keptShare, r.maxBytes/keptShare); s != nil {
			keptSets = append(keptSets, s.seal(nil))
		}
		if l.unreadable.Load() == before {
			merged = append(merged, of)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sealed = slices.Concat(restored, r.sealed)
	for _, s := range restored {
		for _, w := range s.windows {
			if w.kind == exporter.KindCPU {
				r.profiledBy(w, s.process)
			}
		}
	}
	for _, s := range keptSets {
		r.keepRestored(s)
	}
	r.trim()
	if r.disk != nil && len(merged) > 0 {
		r.disk.add(job{kept: r.kept, merged: merged})
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
	profiles := profilesIn(of.path)
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
	s.process = of.process
	s.owner = l.owners[of.process]
	for _, w := range slices.Backward(windows) {
		if s.bytes() > room {
			l.leftOut.Add(1)
			continue
		}
		l.named(of.process, w.Service, w.Version)
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
		if p := r.Span.Process; p != nil {
			s.spans.list[len(s.spans.list)-1].process = s.number(l.process(*p))
		} else {
			l.named(of.process, e.Service, "")
		}
		if s.spans.bytes() > spans { // the memory dropped some too
			s.spans.dropHalf(math.MaxInt64)
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
	return s
}

// named sets the service of a process, which its windows without a resource refer to.
func (l *loader) named(p *Process, service, version string) {
	if service == "" || service == noService() {
		return
	}
	if p.Service == "" {
		p.Service = service
		l.owners[p].known.Store(&[2]string{service, version})
	}
	if p.Service == service {
		p.Version = cmp.Or(p.Version, version)
	}
}

// number returns the number of an earlier process of a span, 0 if there are too many.
func (s *Segment) number(p *Process) uint8 {
	at := slices.Index(s.processes, p)
	if at < 0 && len(s.processes) < math.MaxUint8 {
		at = len(s.processes)
		s.processes = append(s.processes, p)
	}
	return uint8(at + 1)
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

// keepRestored adds the kept set of an earlier process, except the spans that were restored
// with their segment.
func (r *Room) keepRestored(s *Segment) {
	restored := make(map[ident.Key]bool)
	for _, of := range r.sealed {
		for i := range of.spans.list {
			restored[of.spans.list[i].id] = true
		}
	}
	twice := make(map[ident.Key]bool) // of an earlier process still, from which this one has them
	if r.kept != nil {
		for i := range r.kept.spans.list {
			twice[r.kept.spans.list[i].id] = true
		}
	}
	s.spans.list = slices.DeleteFunc(s.spans.list, func(e record) bool { return restored[e.id] || twice[e.id] })
	if len(s.spans.list) == 0 {
		return
	}
	before := r.counts
	r.keepWith(s, 0, twice)
	r.counts = before // it is no loss of this process
}
