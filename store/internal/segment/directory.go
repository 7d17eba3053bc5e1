// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spanprof/spanprof/internal/atomicfile"
	"github.com/spanprof/spanprof/internal/files"
)

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

// Flush waits until all that came before is written. It returns the error of ctx if that ends first.
func (r *Room) Flush(ctx context.Context) error {
	r.mu.Lock()
	d := r.disk
	if d == nil {
		r.mu.Unlock()
		return nil
	}
	r.save(nil)
	flushed := make(chan struct{})
	d.add(0, func() error {
		close(flushed)
		return nil
	})
	r.mu.Unlock()
	select {
	case <-flushed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
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
		d.keep(r.kept)
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

// find returns the segments and kept sets of earlier processes, the oldest first.
func (l *loader) find(path string) (segments, kept []savedDir, err error) {
	entries, err := files.Entries(path, files.Follow)
	if err != nil {
		l.report(err)
	}
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), processPrefix)
		dir := filepath.Join(path, e.Name())
		var started, pid int64
		switch n, _ := fmt.Sscanf(name, "%d-%d-", &started, &pid); {
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
				_ = lock.Close() // it was never written
			}
			if time.Since(time.Unix(0, started)) > time.Minute { // else its process may be about to lock it
				removeEmpty(dir)
			}
		}
		inside, err := files.Entries(dir, files.NoFollow)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.report(err)
		}
		for _, e := range inside {
			of := savedDir{path: filepath.Join(dir, e.Name())}
			base := strings.TrimSuffix(e.Name(), opened)
			number := len(base) == 6 && strings.Trim(base, "0123456789") == ""
			switch of.size, _ = countIn(of.path); {
			case l.own != nil && strings.HasSuffix(base, gone): // a kill came before its end
				_ = os.RemoveAll(of.path)
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
		slices.SortFunc(list, func(a, b savedDir) int { return cmp.Compare(a.path, b.path) }) // times have 19 digits
	}
	if l.own != nil {
		l.own.saved = segments
		for _, of := range slices.Concat(segments, kept) {
			l.own.counts.Bytes += of.size
		}
	}
	return segments, kept, err
}

// countIn returns the size of the regular files in a directory, and the number of profiles.
func countIn(dir string) (size, profiles int64) {
	entries, _ := files.Entries(dir, files.NoFollow)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		if strings.HasSuffix(e.Name(), profileSuffix) {
			profiles++
		}
	}
	return size, profiles
}

// writeKept replaces the kept set, if there is a new one. Then it removes the kept sets of
// earlier processes, which are not needed any more.
func (d *disk) writeKept() error {
	d.mu.Lock()
	s, merged := d.kept, d.merged
	d.kept, d.merged = nil, nil
	d.mu.Unlock()
	if s != nil {
		if err := d.replaceKept(s); err != nil {
			return err
		}
	}
	for _, of := range merged {
		if err := remove(of.path); err != nil {
			return err
		}
		d.count(DiskCounts{Bytes: -of.size})
	}
	return nil
}

func (d *disk) replaceKept(s *Segment) error {
	fresh, old := filepath.Join(d.dir, keptName+opened), filepath.Join(d.dir, keptName)
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	size, err := d.writeKeptTo(fresh, s)
	if err == nil {
		err = errors.Join(remove(old), os.Rename(fresh, old))
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	d.count(DiskCounts{Bytes: size - d.keeps})
	d.keeps = size
	return nil
}

// writeKeptTo writes a kept set of a quarter of the bytes at most: the slowest spans, and the
// newest windows.
func (d *disk) writeKeptTo(dir string, s *Segment) (size int64, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	limit := d.maxBytes / keptShare
	spans := slices.Clone(s.spans.list)
	slices.SortStableFunc(spans, func(a, b record) int { return cmp.Compare(b.duration, a.duration) })
	var records []savedRecord
	for {
		records = nil
		for i := range spans {
			e := s.spans.ended(&spans[i])
			records = append(records, savedRecord{Span: d.savedSpanOf(&e)})
		}
		b, text, err := pack(records)
		if err != nil {
			return 0, err
		}
		if size = int64(len(b)); size <= limit/2 && text <= maxText {
			break
		}
		spans = spans[:len(spans)*3/4]
	}
	for i, w := range slices.Backward(s.windows) {
		const line = 96 // is about what a window takes there
		var b bytes.Buffer
		p, err := encode(context.Background(), []found{{window: w, of: s, match: &match{last: math.MaxInt}, matches: true}}, w.types, false, 0)
		if err == nil {
			err = p.Write(&b)
		}
		if err != nil {
			return 0, err
		}
		if size+int64(b.Len())+line > limit {
			break
		}
		size += int64(b.Len()) + line
		of := &savedWindow{strconv.Itoa(i) + profileSuffix, w.kind, w.name(), w.release(), w.start, w.end}
		if err := atomicfile.Write(dir, of.File, b.Bytes()); err != nil {
			return 0, err
		}
		records = append(records, savedRecord{Window: of})
	}
	b, _, err := pack(append(records, savedRecord{Last: true}))
	if err != nil {
		return 0, err
	}
	size, _ = countIn(dir)
	return size + int64(len(b)), appendTo(dir, b)
}
