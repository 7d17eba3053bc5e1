// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/atomicfile"
	"github.com/spanprof/spanprof/internal/files"
	"github.com/spanprof/spanprof/internal/report"
	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// The names in a directory. Each process has a subdirectory. In it is a directory for each
// segment, with a pprof file per window and one file of spans. The open one ends in opened.
const (
	processPrefix = "segments-"
	opened        = ".open"
	gone          = ".gone" // is being removed
	keptName      = "kept"
	spansFile     = "spans.json.gz"
	profileSuffix = ".pb.gz"
	// oldFile is in directories of the form before segments.
	oldFile = "process.json.gz"
	// maxWaiting bounds the bytes that wait for the disk.
	maxWaiting = 16 << 20
	// maxUnsaved bounds the bytes of spans that wait for the next window.
	maxUnsaved = 1 << 20
	// openShare is the part of all bytes that the open segment takes at most. maxText bounds
	// its file of spans, unpacked.
	openShare = 8
	maxText   = maxFile / 2
)

// DiskCounts are what a disk wrote and dropped.
type DiskCounts struct {
	Bytes, Files, Removed int64
	// Failed is the number of writes that failed or found no place in the queue.
	Failed int64
}

// disk writes the segments of a room. It has one worker.
type disk struct {
	dir      string // of this process
	lock     *os.File
	maxBytes int64
	keys     *attributes.Keys
	report   func(error)
	changed  func() // called when counts change

	mu      sync.Mutex
	jobs    []job
	waiting int64
	closed  bool
	counts  DiskCounts
	// kept is the newest kept set that waits. merged are the kept sets of earlier processes
	// with spans that are in it or in a segment.
	kept   *Segment
	merged []savedDir
	wake   sync.Cond     // of jobs and closed
	done   chan struct{} // closed when the worker has ended

	// The worker has what follows. saved are the sealed segments on the disk, the oldest
	// first, with the segments of earlier processes.
	saved []savedDir
	open  int   // the number of the open segment
	size  int64 // of the open segment
	text  int64 // of its file of spans, unpacked
	files int   // in the open segment
	keeps int64 // the size of the kept set
}

// savedDir is a segment or a kept set on the disk.
type savedDir struct {
	path string
	size int64
}

// job writes something. size is what it takes until then, 0 if it must not be dropped.
type job struct {
	size  int64
	write func() error
}

// openDisk makes the directory of this process.
func openDisk(path string, maxBytes int64, keys *attributes.Keys, report func(error)) (*disk, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(path, fmt.Sprintf("%s%d-%d-*", processPrefix, time.Now().UnixNano(), os.Getpid()))
	if err != nil {
		return nil, err
	}
	lock, err := atomicfile.Lock(dir) // which another process may try in this moment
	d := &disk{dir: dir, lock: lock, maxBytes: maxBytes, keys: keys, report: report, done: make(chan struct{})}
	d.wake.L = &d.mu
	return d, err
}

// Counts returns the counts until now.
func (d *disk) Counts() DiskCounts {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts
}

// add appends a job. It never waits: without a place in the queue the job is dropped.
func (d *disk) add(size int64, write func() error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if size > 0 && d.waiting+size > maxWaiting {
		d.counts.Failed++
		d.report(errors.New("the disk is too slow: a profile is in memory only"))
		return
	}
	d.jobs, d.waiting = append(d.jobs, job{size, write}), d.waiting+size
	d.wake.Signal()
}

// keep replaces the kept set, unless s is nil. merged is not needed any more then.
func (d *disk) keep(s *Segment, merged ...savedDir) {
	d.mu.Lock()
	d.kept, d.merged = cmp.Or(s, d.kept), append(d.merged, merged...)
	d.mu.Unlock()
	d.add(0, d.writeKept)
}

// run writes jobs until close.
func (d *disk) run() {
	defer close(d.done)
	for {
		d.mu.Lock()
		for len(d.jobs) == 0 && !d.closed {
			d.wake.Wait()
		}
		jobs := d.jobs
		d.jobs = nil
		d.mu.Unlock()
		if len(jobs) == 0 {
			return
		}
		for _, j := range jobs {
			// The encoder of profiles is not ours.
			if err := report.Contain(j.write); err != nil {
				d.count(DiskCounts{Failed: 1})
				d.report(err)
			}
			d.mu.Lock()
			d.waiting -= j.size
			d.mu.Unlock()
		}
	}
}

// close writes what waits, and ends the worker.
func (d *disk) close() error {
	d.mu.Lock()
	d.closed = true
	d.wake.Signal()
	d.mu.Unlock()
	<-d.done
	err := d.lock.Close()
	removeEmpty(d.dir)
	return err
}

// removeEmpty removes the directory of a process if only the lock is in it.
func removeEmpty(dir string) {
	if inside, err := files.Entries(dir, files.NoFollow); err == nil && len(inside) == 1 && inside[0].Name() == atomicfile.LockName {
		_ = os.Remove(filepath.Join(dir, atomicfile.LockName))
		_ = os.Remove(dir)
	}
}

func (d *disk) segment() string { return filepath.Join(d.dir, fmt.Sprintf("%06d", d.open)) }

// writeWindow writes a profile, if it is not nil. Then it appends its line and the spans.
func (d *disk) writeWindow(p *exporter.Profile, spans []Ended) error {
	dir := d.segment() + opened
	var records []savedRecord
	size, before := int64(0), d.files
	if p != nil {
		b, err := p.Pprof()
		if err != nil {
			return err
		}
		d.files++
		w := savedWindow{
			File: strconv.Itoa(d.files) + profileSuffix, Kind: p.Kind(), Service: ident.Service(p.Resource()), Version: ident.Version(p.Resource()),
			Start: p.Start().UnixNano(), End: p.End().UnixNano(),
		}
		if err := d.in(dir, func() error { return atomicfile.Write(dir, w.File, b) }); err != nil {
			return err
		}
		size = int64(len(b))
		records = append(records, savedRecord{Window: &w})
	}
	for i := range spans {
		records = append(records, savedRecord{Span: d.savedSpanOf(&spans[i])})
	}
	b, text, err := pack(records)
	if err == nil {
		err = d.in(dir, func() error { return appendTo(dir, b) })
	}
	if err != nil {
		if p != nil { // without its line it is of no use
			err = errors.Join(err, os.Remove(filepath.Join(dir, records[0].Window.File)))
		}
		return err
	}
	d.text += text
	d.size += size + int64(len(b))
	d.count(DiskCounts{Bytes: size + int64(len(b)), Files: int64(d.files - before + 1)})
	if d.size > d.maxBytes/openShare || d.text > maxText {
		return d.seal()
	}
	return d.bound()
}

// in runs a function that writes to a directory. A directory that vanished is made again.
func (d *disk) in(dir string, write func() error) error {
	err := write()
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			err = write()
		}
	}
	return err
}

// count adds to the counts.
func (d *disk) count(n DiskCounts) {
	d.mu.Lock()
	c := &d.counts
	c.Bytes, c.Files, c.Removed, c.Failed = c.Bytes+n.Bytes, c.Files+n.Files, c.Removed+n.Removed, c.Failed+n.Failed
	d.mu.Unlock()
	d.changed()
}

// seal ends the open segment and renames it. If that fails, its name stays.
func (d *disk) seal() error {
	path, size := d.segment(), d.size
	d.open++
	d.size, d.text, d.files = 0, 0, 0
	b, _, err := pack([]savedRecord{{Last: true}})
	if err == nil {
		err = appendTo(path+opened, b)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was written
	}
	if err == nil {
		size += int64(len(b))
		d.count(DiskCounts{Bytes: int64(len(b))})
		err = os.Rename(path+opened, path)
	}
	if err != nil {
		path += opened
	}
	d.saved = append(d.saved, savedDir{path, size})
	return errors.Join(err, d.bound())
}

// bound removes the oldest segments beyond three quarters of the bytes. The kept set has
// the rest.
func (d *disk) bound() (err error) {
	total := d.size
	for _, s := range d.saved {
		total += s.size
	}
	for len(d.saved) > 0 && total > d.maxBytes*3/4 {
		oldest := d.saved[0]
		d.saved = slices.Clone(d.saved[1:])
		total -= oldest.size
		err = cmp.Or(err, remove(oldest.path))
		d.count(DiskCounts{Bytes: -oldest.size, Removed: 1})
	}
	return err
}

// remove removes a segment or a kept set. What a kill leaves has a name that nobody reads.
func remove(path string) error {
	if os.Rename(path, path+gone) == nil {
		path += gone
	}
	return os.RemoveAll(path)
}
