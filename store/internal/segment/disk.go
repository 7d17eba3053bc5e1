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
	keptName      = "kept"
	spansFile     = "spans.json.gz"
	profileSuffix = ".pb.gz"
	// oldFile is in directories of the form before segments.
	oldFile = "process.json.gz"
	// maxWaiting bounds the bytes that wait for the disk.
	maxWaiting = 16 << 20
	// maxUnsaved bounds the spans that wait for the next window.
	maxUnsaved = 4096
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
	wake    chan struct{} // has an element when there are jobs
	done    chan struct{} // closed when the worker has ended

	// The worker has what follows. saved are the sealed segments on the disk, the oldest
	// first, with the segments of earlier processes.
	saved []savedDir
	open  int   // the number of the open segment
	size  int64 // of the open segment
	files int   // in the open segment
}

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
	flushed chan struct{}
	size    int64
}

// savedRecord is a line of a file of spans.
type savedRecord struct {
	Window *savedWindow `json:"window,omitempty"`
	Span   *savedSpan   `json:"span,omitempty"`
}

type savedWindow struct {
	File    string        `json:"file"`
	Kind    exporter.Kind `json:"kind"`
	Service string        `json:"service,omitempty"`
	Version string        `json:"version,omitempty"`
	Start   int64         `json:"start"`
	End     int64         `json:"end"`
}

type savedSpan struct {
	ID         string             `json:"id"`
	Parent     string             `json:"parent,omitempty"`
	Trace      string             `json:"trace,omitempty"`
	Name       string             `json:"name,omitempty"`
	Service    string             `json:"service,omitempty"`
	Status     string             `json:"status,omitempty"`
	Attributes []attributes.Entry `json:"attributes,omitempty"`
	Start      int64              `json:"start"`
	Duration   int64              `json:"duration"`
	Err        bool               `json:"err,omitempty"`
	LocalRoot  bool               `json:"localRoot,omitempty"`
	Child      bool               `json:"child,omitempty"`
	Process    *Process           `json:"process,omitempty"`
}

// openDisk makes the directory of this process.
func openDisk(path string, maxBytes int64, keys *attributes.Keys, report func(error)) (*disk, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	d := &disk{maxBytes: maxBytes, keys: keys, report: report, wake: make(chan struct{}, 1), done: make(chan struct{})}
	var err error
	if d.dir, err = os.MkdirTemp(path, fmt.Sprintf("%s%d-%d-*", processPrefix, time.Now().UnixNano(), os.Getpid())); err != nil {
		return nil, err
	}
	if d.lock, err = atomicfile.TryLock(d.dir); err != nil {
		return nil, err
	}
	return d, nil
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
		j.size = int64(j.profile.Size())
	}
	j.size += 256 * int64(len(j.spans))
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
	d.jobs, d.waiting = append(d.jobs, j), d.waiting+j.size
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// run writes jobs until close.
func (d *disk) run() {
	defer close(d.done)
	for range d.wake {
		for {
			d.mu.Lock()
			jobs := d.jobs
			d.jobs = nil
			closed := d.closed
			d.mu.Unlock()
			for _, j := range jobs {
				d.do(j)
				d.mu.Lock()
				d.waiting -= j.size
				d.mu.Unlock()
			}
			if len(jobs) > 0 {
				d.changed()
			}
			for _, j := range jobs {
				if j.flushed != nil {
					close(j.flushed)
				}
			}
			if len(jobs) == 0 {
				if closed {
					return
				}
				break
			}
		}
	}
}

// close writes what waits, and ends the worker.
func (d *disk) close() error {
	d.mu.Lock()
	d.closed = true
	select {
	case d.wake <- struct{}{}:
	default:
	}
	d.mu.Unlock()
	<-d.done
	return d.lock.Close()
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
	case j.kept != nil:
		return d.writeKept(j.kept)
	}
	return nil
}

func (d *disk) segment() string { return filepath.Join(d.dir, fmt.Sprintf("%06d", d.open)) }

// writeWindow writes a profile, and then appends its line and the spans.
func (d *disk) writeWindow(j job) error {
	dir := d.segment() + opened
	var records []savedRecord
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
		if err := d.in(dir, func() error { return atomicfile.Write(dir, w.File, atomicfile.Process, b) }); err != nil {
			return err
		}
		d.grown(int64(len(b)))
		records = append(records, savedRecord{Window: &w})
	}
	for i := range j.spans {
		records = append(records, savedRecord{Span: d.savedSpanOf(&j.spans[i], nil)})
	}
	if err := d.in(dir, func() error { return d.appendRecords(dir, records) }); err != nil {
		return err
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

// appendRecords appends one gzip member to a file of spans. Its checksum shows whether it
// is whole.
func (d *disk) appendRecords(dir string, records []savedRecord) error {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	lines := json.NewEncoder(z)
	for i := range records {
		if err := lines.Encode(&records[i]); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	f, err := files.Append(filepath.Join(dir, spansFile))
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	d.grown(int64(b.Len()))
	return errors.Join(err, f.Close())
}

func (d *disk) grown(n int64) {
	d.size += n
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts.Bytes += n
	d.counts.Files++
}

// seal renames the open segment.
func (d *disk) seal() error {
	path := d.segment()
	err := os.Rename(path+opened, path)
	if err == nil {
		d.saved = append(d.saved, savedDir{path, d.size})
	}
	d.open++
	d.size, d.files = 0, 0
	if errors.Is(err, fs.ErrNotExist) { // nothing was written
		err = nil
	}
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
		err = cmp.Or(err, os.RemoveAll(oldest.path))
		_ = os.Remove(filepath.Join(filepath.Dir(oldest.path), atomicfile.LockName)) // fails if it is in use
		_ = os.Remove(filepath.Dir(oldest.path))                                     // fails until it is empty
		d.mu.Lock()
		d.counts.Bytes -= oldest.size
		d.counts.Removed++
		d.mu.Unlock()
	}
	return err
}

// writeKept replaces the kept set.
func (d *disk) writeKept(s *Segment) error {
	fresh := filepath.Join(d.dir, keptName+opened)
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if err := os.MkdirAll(fresh, 0o700); err != nil {
		return err
	}
	var records []savedRecord
	size := int64(0)
	for i, w := range slices.Backward(s.windows) {
		var b bytes.Buffer
		if err := s.profile(w).Write(&b); err != nil {
			return err
		}
		if size += int64(b.Len()); size > d.maxBytes/keptShare {
			break
		}
		of := &savedWindow{strconv.Itoa(i) + profileSuffix, w.kind, w.name(), w.release(), w.start, w.end}
		if err := atomicfile.Write(fresh, of.File, atomicfile.Process, b.Bytes()); err != nil {
			return err
		}
		records = append(records, savedRecord{Window: of})
	}
	for i := range s.spans.list {
		r := &s.spans.list[i]
		e := s.spans.ended(r)
		records = append(records, savedRecord{Span: d.savedSpanOf(&e, s.processOf(r))})
	}
	if err := d.appendRecords(fresh, records); err != nil {
		return err
	}
	old := filepath.Join(d.dir, keptName)
	return errors.Join(os.RemoveAll(old), os.Rename(fresh, old))
}

// savedSpanOf returns a span as it is written.
func (d *disk) savedSpanOf(e *Ended, p *Process) *savedSpan {
	s := &savedSpan{
		ID: e.ID.String(), Parent: e.Parent.String(), Name: e.Name, Service: e.Service, Status: e.Status,
		Start: e.Start, Duration: e.Duration, Err: e.Err, LocalRoot: e.LocalRoot, Child: e.Child, Process: p,
	}
	if e.Trace.IsValid() {
		s.Trace = e.Trace.String()
	}
	if d.keys != nil && e.Attributes != "" {
		s.Attributes = slices.Collect(d.keys.All(e.Attributes))
	}
	return s
}
