// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/report"
	"github.com/spanprof/spanprof/store/internal/journal"
)

const (
	// minDirectoryBytes has room for some windows of a small service, and for the
	// spans that outlive others.
	minDirectoryBytes = 4 << 20
	// maxWaiting is how many profiles may wait for a slow disk, maxCounted how many counts
	// of windows, in parts of 128 names, for a full one.
	maxWaiting = 16
	maxCounted = 64
	// maxSpans is how many spans are made ready for the disk at a time.
	maxSpans = 4 << 10
	// keptEvery is how often the spans are written that outlive others.
	keptEvery = time.Minute
)

// directory writes what the store takes in to the files of a journal, and reads those of
// earlier processes. All of it is done by one worker.
type directory struct {
	store    *Store
	path     string
	maxBytes int64
	journal  *journal.Journal

	jobs chan job
	// stop is closed when Shutdown waits no longer, restored when what earlier processes
	// have left is read, done when the worker has ended.
	stop, restored, done chan struct{}

	// leftOut is what earlier processes have left and memory has no room for. The store's
	// lock guards it.
	leftOut leftOut

	// What follows is the worker's.
	last bool
	// counted are the counts of windows that are to be written with the next spans.
	counted []journal.Window
	keptAt  time.Time
	// lostAt is when spans could not be written, zero once all are.
	lostAt time.Time
	// stuck is how many files cannot be removed.
	stuck int
	// processes are the numbers of those of earlier runs, unnumbered is how many more there
	// will be.
	processes  map[*journal.Run]uint8
	unnumbered int
	// left, of OpenDirectory, hears of files that cannot be read in place of otel.Handle.
	left func(error)
}

// job is something for the worker to do.
type job struct {
	profile *exporter.Profile
	names   []journal.Count
	// flushed is closed when all that came before is written; nil for a profile.
	flushed chan struct{}
	// last says that nothing more comes.
	last bool
}

func openDirectory(s *Store, path string, maxBytes int64) (*directory, error) {
	d := &directory{
		store: s, path: path, maxBytes: maxBytes,
		jobs: make(chan job, maxWaiting), stop: make(chan struct{}), restored: make(chan struct{}), done: make(chan struct{}),
		processes: make(map[*journal.Run]uint8), keptAt: time.Now(),
	}
	var err error
	if d.journal, err = journal.Open(path, journal.Config{MaxBytes: maxBytes, MaxUnzipped: s.maxBytes, Rank: d.rank}); err != nil {
		return nil, fmt.Errorf("store: WithDirectory: %w", err)
	}
	return d, nil
}

// add hands a window to the worker. It waits for nothing: what finds no room is counted.
func (d *directory) add(p *exporter.Profile, w *window) {
	j := job{profile: p}
	for i := range w.names {
		j.names = append(j.names, newCount(&w.names[i]))
	}
	select {
	case d.jobs <- j:
	default:
		d.miss(1)
		d.store.reporter.Report(fmt.Errorf("store: directory %s: the disk is too slow: a %s profile is in memory alone", d.path, p.Kind()))
	}
}

// miss counts what is not written and that the journal does not know of.
func (d *directory) miss(n int) {
	d.store.mu.Lock()
	d.store.missed += int64(n)
	d.store.spans.Changed()
	d.store.mu.Unlock()
}

// flush waits until all that was added is written.
func (d *directory) flush(ctx context.Context, last bool) error {
	j := job{flushed: make(chan struct{}), last: last}
	select {
	case d.jobs <- j:
	case <-d.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("store: directory %s: %w", d.path, ctx.Err())
	}
	select {
	case <-j.flushed:
		return nil
	case <-d.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("store: directory %s: %w", d.path, ctx.Err())
	}
}

// shutdown writes what is left and ends the worker. Where ctx ends first, the worker ends
// after the file that it writes.
func (d *directory) shutdown(ctx context.Context) error {
	err := d.flush(ctx, true)
	if err != nil {
		close(d.stop)
		return err
	}
	select {
	case <-d.done:
	case <-ctx.Done():
		err = fmt.Errorf("store: directory %s: %w", d.path, ctx.Err())
	}
	return err
}

// run is the worker.
func (d *directory) run() {
	defer close(d.done)
	d.restore()
	for !d.last {
		select {
		case j := <-d.jobs:
			d.do(j)
		case <-d.stop:
			d.last = true
		}
	}
	d.report(d.journal.Close())
}

// between does what waits while something longer goes on. It returns false once that is
// to end.
func (d *directory) between() bool {
	for {
		select {
		case <-d.stop:
			d.last = true
			return false
		case j := <-d.jobs:
			d.do(j)
			if d.last {
				return false
			}
		default:
			return !d.last
		}
	}
}

func (d *directory) do(j job) {
	before := d.journal.Stats()
	// Profiles come from anybody, and the encoder is not ours.
	if err := report.Contain(func() error { d.write(j); return nil }); err != nil {
		d.miss(1)
		d.report(err)
	}
	if d.journal.Stats() != before {
		d.store.spans.Changed()
	}
	d.last = d.last || j.last
	if j.flushed != nil {
		close(j.flushed)
	}
}

func (d *directory) write(j job) {
	if j.profile != nil {
		name, err := d.journal.Profile(j.profile)
		d.report(err)
		if err == nil && len(j.names) > 0 {
			d.counted = append(d.counted, journal.Window{File: name, Names: j.names})
		}
	}
	// The kinds of a rotation come together.
	if len(d.jobs) == 0 || j.flushed != nil {
		d.writeSpans(j.last)
		if j.last || time.Since(d.keptAt) >= keptEvery {
			d.writeKept(j.last)
		}
		d.sayStuck()
	}
}

// sayStuck says once that files cannot be removed.
func (d *directory) sayStuck() {
	n, err := d.journal.Stuck()
	if n > 0 && d.stuck == 0 {
		d.report(fmt.Errorf("files that should make room cannot be removed, and newer ones go in their place: %w", err))
	}
	d.stuck = n
}

func (d *directory) report(err error) {
	switch {
	case err == nil:
	case d.left != nil:
		d.left(err)
	default:
		d.store.reporter.Report(fmt.Errorf("store: directory %s: %w", d.path, err))
	}
}
