// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/report"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/journal"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

const (
	// minDirectoryBytes has room for some windows of a small service, and for the
	// spans that outlive others.
	minDirectoryBytes = 4 << 20
	// maxWaiting is how many profiles may wait for a slow disk.
	maxWaiting = 16
	// keptEvery is how often the spans are written that outlive others.
	keptEvery = time.Minute
)

// DirectoryStats says what a Store has written to its directory and read from it; see
// WithDirectory. It is zero where there is none.
type DirectoryStats struct {
	// Path is the directory.
	Path string
	// Bytes is the size of all files, but for those of other processes that run now, and
	// MaxBytes its bound.
	Bytes, MaxBytes int64
	// FilesWritten are the files of windows and of spans that were written, WriteFailures
	// those that could not be, or came while too many were waiting: what is in them is
	// in memory alone. FilesRemoved are those that made room.
	FilesWritten, WriteFailures, FilesRemoved int64
	// FilesSetAside are the files that were damaged, or of a version that this program
	// does not know, and were renamed; FilesUnreadable those that could not be read.
	FilesSetAside, FilesUnreadable int64
	// Restoring says that what earlier processes have left is being read.
	Restoring bool
	// Spans and Windows are those of earlier processes that are held. They are in no
	// other number of Stats but Bytes.
	Spans, Windows int
}

// directory writes what the store takes in to the files of a journal, and reads those of
// earlier processes. All of it is done by one worker.
type directory struct {
	store    *Store
	path     string
	maxBytes int64
	journal  *journal.Journal
	reporter report.Reporter

	jobs chan job
	// stop is closed when Shutdown waits no longer, restored when what earlier processes
	// have left is read, done when the worker has ended.
	stop, restored, done chan struct{}

	// What follows is the worker's.
	last bool
	// readAll says that nothing of earlier processes is left to read.
	readAll bool
	// counted are the counts of windows that are to be written with the next spans.
	counted []journal.Window
	keptAt  time.Time
	// lostAt is when spans could not be written, zero once all are.
	lostAt    time.Time
	processes map[*journal.Run]uint8
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
	if d.journal, err = journal.Open(path, maxBytes, d.rank); err != nil {
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
		d.store.mu.Lock()
		d.store.missed++
		d.store.mu.Unlock()
		d.reporter.Report(fmt.Errorf("store: directory %s: the disk is too slow: a %s profile is in memory alone", d.path, p.Kind()))
	}
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
	d.reporter.Wait(ctx)
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
			d.writeKept()
		}
	}
	d.last = d.last || j.last
	if j.flushed != nil {
		close(j.flushed)
	}
}

func (d *directory) report(err error) {
	switch {
	case err == nil:
	case d.left != nil:
		d.left(err)
	default:
		d.reporter.Report(fmt.Errorf("store: directory %s: %w", d.path, err))
	}
}

// writeSpans writes the spans that ended, and whose samples have come, since the last time.
func (d *directory) writeSpans(everything bool) {
	// After a failure all are written again: those that are twice in files count once.
	again := !d.lostAt.IsZero() && (everything || time.Since(d.lostAt) >= keptEvery)
	if again {
		d.lostAt = time.Time{}
	}
	c := spanConverter{of: d}
	var spans []journal.Span
	write := func() {
		if err := d.journal.Spans(time.Now(), d.counted, spans); err != nil {
			d.lostAt = time.Now()
			d.report(err)
		}
		spans, d.counted = spans[:0], nil
	}
	d.store.spans.TakeEnded(everything, again, func(r *spanlog.Record) {
		if spans = append(spans, c.convert(r)); len(spans) == journal.MaxSpans {
			write()
		}
	})
	write()
}

// writeKept writes the spans that outlive others.
func (d *directory) writeKept() {
	d.keptAt = time.Now()
	c := spanConverter{of: d}
	var spans []journal.Span
	d.store.spans.EachPinned(func(r *spanlog.Record) { spans = append(spans, c.convert(r)) })
	if len(spans) > 0 {
		d.report(d.journal.Kept(d.keptAt, spans, d.readAll))
	}
}

// rank says how much a sample is worth when its window makes room on the disk.
func (d *directory) rank(s *profile.Sample) int {
	rank := journal.NoRank
	for _, label := range []string{labelkey.SpanID, labelkey.ProfileID, labelkey.EndedSpanID} {
		for _, id := range s.Label[label] {
			if key := ident.ParseKey(id); key != 0 {
				rank = min(rank, d.store.spans.Ranks([]ident.Key{key})[0])
			}
		}
	}
	return rank
}

// stats returns what is known of the directory. The caller holds the store's lock.
func (d *directory) stats(restored spanlog.Totals) DirectoryStats {
	if d == nil {
		return DirectoryStats{}
	}
	s := d.journal.Stats()
	restoring := true
	select {
	case <-d.restored:
		restoring = false
	default:
	}
	return DirectoryStats{
		Path: d.path, Bytes: s.Bytes, MaxBytes: d.maxBytes,
		FilesWritten: int64(s.Written), WriteFailures: int64(s.Failed) + d.store.missed, FilesRemoved: int64(s.Removed),
		FilesSetAside: int64(s.SetAside), FilesUnreadable: int64(s.Unreadable),
		Restoring: restoring, Spans: restored.Restored, Windows: d.store.index.restored,
	}
}
