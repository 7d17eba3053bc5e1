// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/atomicfile"
	"github.com/spanprof/spanprof/internal/files"
	"github.com/spanprof/spanprof/internal/untrusted"
	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// maxFile bounds a file, zipped and not.
const maxFile = 128 << 20

// WithDirectory writes to a directory from then on, and restores what earlier processes left
// there on another goroutine. report gets errors of single files, and must not call the room.
func (r *Room) WithDirectory(path string, maxBytes int64, report func(error)) error {
	d, err := openDisk(path, maxBytes, r.keys, report)
	if err != nil {
		return err
	}
	l := newLoader(r, report, d)
	segments, kept, _ := l.find(path)
	d.changed = r.Changed
	r.disk, r.loader = d, l // nothing else has the room yet
	go d.run()
	go l.load(segments, kept)
	return nil
}

// ErrNoRuns is the error of OpenDirectory for a directory without segments.
var ErrNoRuns = errors.New("no process has left spans or profiles in it")

// OpenDirectory restores what processes left in a directory, running ones too, and writes
// nothing.
func (r *Room) OpenDirectory(path string, report func(error)) error {
	l := newLoader(r, report, nil)
	segments, kept, err := l.find(path)
	if err != nil {
		return err
	}
	if len(segments)+len(kept) == 0 {
		return ErrNoRuns
	}
	r.loader = l
	l.load(segments, kept)
	return nil
}

// Restored returns a channel that is closed when the files of earlier processes are read. The
// room must have a directory.
func (r *Room) Restored() <-chan struct{} { return r.loader.done }

// Flush waits until all that came before is written. It returns false if done is closed first.
func (r *Room) Flush(done <-chan struct{}) bool {
	r.mu.Lock()
	d := r.disk
	if d == nil {
		r.mu.Unlock()
		return true
	}
	r.save(nil)
	flushed := make(chan struct{})
	d.add(job{flushed: flushed})
	r.mu.Unlock()
	select {
	case <-flushed:
		return true
	case <-d.done:
		return true
	case <-done:
		return false
	}
}

// Close writes what waits for the disk, and ends its worker.
func (r *Room) Close() error {
	r.mu.Lock()
	d := r.disk
	if d == nil {
		r.mu.Unlock()
		return nil
	}
	r.save(nil)
	if r.kept != nil {
		d.add(job{kept: r.kept})
	}
	r.disk = nil
	r.mu.Unlock()
	r.loader.stop.Store(true)
	<-r.loader.done
	err := d.close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = d.Counts()
	return err
}

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

// find returns the segments and kept sets of earlier processes, the oldest first.
func (l *loader) find(path string) (segments, kept []savedDir, err error) {
	entries, err := files.Entries(path, files.Follow)
	if err != nil {
		l.report(err)
	}
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), processPrefix)
		dir := filepath.Join(path, e.Name())
		var p Process
		switch n, _ := fmt.Sscanf(name, "%d-%d-", &p.Started, &p.PID); {
		case l.own != nil && dir == l.own.dir:
			continue
		case !ok || n != 2:
			if _, err := os.Lstat(filepath.Join(dir, oldFile)); err == nil {
				l.report(fmt.Errorf("%s: an earlier version wrote it, and this one cannot read it", dir))
			}
			continue
		}
		if l.own != nil {
			lock, err := atomicfile.TryLock(dir)
			if errors.Is(err, atomicfile.ErrLocked) {
				continue // its process runs
			}
			if lock != nil {
				defer func() { _ = lock.Close() }() // it was never written
			}
		}
		inside, err := files.Entries(dir, files.NoFollow)
		if err != nil {
			l.report(err)
		}
		for _, e := range inside {
			of := savedDir{path: filepath.Join(dir, e.Name()), process: l.process(p)}
			base := strings.TrimSuffix(e.Name(), opened)
			number := len(base) == 6 && strings.Trim(base, "0123456789") == ""
			switch of.size = sizeOf(of.path); {
			case !number && base != keptName:
			case !e.IsDir():
				l.report(fmt.Errorf("%s: it is no directory", of.path))
			case number:
				segments = append(segments, of)
			default:
				kept = append(kept, of)
			}
		}
	}
	for _, list := range [][]savedDir{segments, kept} {
		slices.SortFunc(list, func(a, b savedDir) int {
			return cmp.Or(cmp.Compare(a.process.Started, b.process.Started), cmp.Compare(a.path, b.path))
		})
	}
	if l.own != nil {
		l.own.saved = segments
		for _, of := range slices.Concat(segments, kept) {
			l.own.counts.Bytes += of.size
		}
	}
	return segments, kept, err
}

// profilesIn returns the number of profiles in the directory of a segment.
func profilesIn(dir string) (n int64) {
	entries, _ := files.Entries(dir, files.NoFollow)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), profileSuffix) {
			n++
		}
	}
	return n
}

// sizeOf returns the size of the regular files in a directory.
func sizeOf(dir string) (n int64) {
	entries, _ := files.Entries(dir, files.NoFollow)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
	}
	return n
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
	records, err := readRecords(filepath.Join(of.path, spansFile))
	windows := int64(0)
	last := len(records) > 0 && records[len(records)-1].Last
	for _, r := range records {
		if r.Window != nil {
			windows++
		}
	}
	switch {
	case !last && filepath.Base(of.path) == keptName+opened: // the one before is there
		return nil
	case isOpen && errors.Is(err, fs.ErrNotExist) && profiles <= 1: // a kill came before the first line
		return nil
	case err == nil && (!isOpen && !last || isOpen && profiles > windows+1):
		err = errors.New("its end is missing")
	}
	if err != nil {
		l.report(fmt.Errorf("%s: %w", filepath.Join(of.path, spansFile), err))
	}
	s := newSegment()
	s.process = of.process
	s.owner = l.owners[of.process]
	for _, r := range slices.Backward(records) {
		if r.Window == nil {
			continue
		}
		if s.bytes() > room {
			l.leftOut.Add(1)
			continue
		}
		l.named(of.process, r.Window.Service, r.Window.Version)
		if err := l.readWindow(s, of.path, r.Window); err != nil {
			l.report(fmt.Errorf("%s: %w", filepath.Join(of.path, r.Window.File), err))
		}
	}
	for _, r := range records {
		if r.Span == nil {
			continue
		}
		e, ok := r.Span.ended(l.room.keys)
		if !ok || !s.spans.add(&e) {
			continue
		}
		if p := r.Span.Process; p != nil {
			s.spans.list[len(s.spans.list)-1].process = s.number(l.process(*p))
		} else {
			l.named(of.process, e.Service, "")
		}
		if s.spans.bytes() > spans { // the memory dropped some too
			s.spans.dropHalf(math.MaxInt64)
		}
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

// maxTorn bounds the damaged places of one file that are passed over.
const maxTorn = 64

// readRecords returns the lines of a file of spans, except damaged members. The error is about
// the first of these.
func readRecords(path string) (records []savedRecord, err error) {
	b, err := files.Read(path, files.NoFollow, maxFile)
	if err != nil {
		return nil, err
	}
	torn := 0
	for room := int64(maxFile); len(b) > 0; {
		in := bytes.NewReader(b)
		text, failed := member(in, room)
		if room -= int64(len(text)); room < 0 {
			return records, errors.New("it is too large")
		}
		next := len(b) - in.Len()
		if failed == nil {
			for line := range bytes.Lines(text) {
				var r savedRecord
				if failed = json.Unmarshal(line, &r); failed != nil {
					break
				}
				records = append(records, r)
			}
		} else if next = 1 + bytes.Index(b[1:], []byte("\x1f\x8b\x08")); next == 0 || torn == maxTorn {
			next = len(b)
		}
		if failed != nil {
			torn++
			if err == nil {
				err = failed
			}
		}
		b = b[next:]
	}
	return records, err
}

// member reads a gzip member of at most room bytes, and one more if it is larger.
func member(in *bytes.Reader, room int64) (text []byte, err error) {
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return io.ReadAll(io.LimitReader(z, room+1))
}

// ended returns a span of a file. It returns false if this program did not write it.
func (s *savedSpan) ended(keys *attributes.Keys) (Ended, bool) {
	e := s.Ended
	e.Trace, _ = trace.TraceIDFromHex(s.Trace) // zero if absent
	e.Attributes = keys.Restore(s.Attributes)
	valid := e.ID != 0 && s.Duration >= 0 && s.Start > -ident.Latest && s.Start < ident.Latest && s.Duration < ident.Latest
	return e, valid
}
