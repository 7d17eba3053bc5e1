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
	changed  func() // called when jobs are done

	mu      sync.Mutex
	jobs    []job
	waiting int64
	closed  bool
	counts  DiskCounts
	wake    sync.Cond     // of jobs and closed
	done    chan struct{} // closed when the worker has ended

	// The worker has what follows. saved are the sealed segments on the disk, the oldest
	// first, with the segments of earlier processes.
	saved []savedDir
	open  int   // the number of the open segment
	size  int64 // of the open segment
	text  int64 // of its file of spans, unpacked
	files int   // in the open segment
	kept  int64 // the size of the kept set
}

// savedDir is a segment or a kept set on the disk.
type savedDir struct {
	path string
	size int64
}

// job is something to write. Only one of its parts is set, except a window with its spans.
type job struct {
	profile *exporter.Profile
	spans   []Ended
	sealed  bool
	kept    *Segment
	// merged are the kept sets of earlier processes with spans that are in kept or in a
	// segment.
	merged  []savedDir
	flushed chan struct{}
	size    int64
}

func (j job) keeps() bool { return j.kept != nil || j.merged != nil }

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
func (d *disk) add(j job) {
	if j.profile != nil {
		j.size += int64(j.profile.Size())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		d.counts.Failed++
		return
	case d.waiting+j.size > maxWaiting && j.flushed == nil && !j.sealed:
		d.counts.Failed++
		d.report(errors.New("the disk is too slow: a profile is in memory only"))
		return
	}
	if i := slices.IndexFunc(d.jobs, job.keeps); i >= 0 && j.keeps() { // the newest set is enough
		w := &d.jobs[i]
		w.kept, w.merged = cmp.Or(j.kept, w.kept), append(w.merged, j.merged...)
		return
	}
	d.jobs, d.waiting = append(d.jobs, j), d.waiting+j.size
	d.wake.Signal()
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
			d.do(j)
			d.mu.Lock()
			d.waiting -= j.size
			d.mu.Unlock()
		}
		d.changed()
		for _, j := range jobs {
			if j.flushed != nil {
				close(j.flushed)
			}
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

func (d *disk) do(j job) {
	// The encoder of profiles is not ours.
	if err := report.Contain(func() error { return d.write(j) }); err != nil {
		d.mu.Lock()
		d.counts.Failed++
		d.mu.Unlock()
		d.report(err)
	}
}

func (d *disk) write(j job) error {
	switch {
	case j.profile != nil || len(j.spans) > 0:
		return d.writeWindow(j)
	case j.sealed:
		return d.seal()
	case j.keeps():
		return d.writeKept(j.kept, j.merged)
	}
	return nil
}

func (d *disk) segment() string { return filepath.Join(d.dir, fmt.Sprintf("%06d", d.open)) }

// writeWindow writes a profile, and then appends its line and the spans.
func (d *disk) writeWindow(j job) error {
	dir := d.segment() + opened
	var records []savedRecord
	size, before := int64(0), d.files
	if p := j.profile; p != nil {
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
	for i := range j.spans {
		records = append(records, savedRecord{Span: d.savedSpanOf(&j.spans[i])})
	}
	b, text, err := pack(records)
	if err == nil {
		err = d.in(dir, func() error { return appendTo(dir, b) })
	}
	if err != nil {
		if j.profile != nil { // without its line it is of no use
			err = errors.Join(err, os.Remove(filepath.Join(dir, records[0].Window.File)))
		}
		return err
	}
	d.text += text
	d.size += size + int64(len(b))
	d.grown(size+int64(len(b)), d.files-before+1)
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

// grown counts bytes that were written, and files.
func (d *disk) grown(n int64, files int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts.Bytes += n
	d.counts.Files += int64(files)
}

// seal ends the open segment and renames it. If that fails, its name stays.
func (d *disk) seal() error {
	path := d.segment()
	b, _, err := pack([]savedRecord{{Last: true}})
	if err == nil {
		err = appendTo(path+opened, b)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist): // nothing was written
		err, path = nil, ""
	case err == nil:
		d.size += int64(len(b))
		d.grown(int64(len(b)), 0)
		if err = os.Rename(path+opened, path); err != nil {
			path += opened
		}
	default:
		path += opened
	}
	if path != "" {
		d.saved = append(d.saved, savedDir{path: path, size: d.size})
	}
	d.open++
	d.size, d.text, d.files = 0, 0, 0
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
		d.grown(-oldest.size, 0)
		d.mu.Lock()
		d.counts.Removed++
		d.mu.Unlock()
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
