// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
	reporter report.Reporter

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
		d.reporter.Report(fmt.Errorf("store: directory %s: the disk is too slow: a %s profile is in memory alone", d.path, p.Kind()))
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
	done := false
	defer func() {
		if !done {
			d.lostAt = time.Now() // A panic: what was taken is written again too.
		}
	}()
	c := spanConverter{of: d}
	var spans []journal.Span
	write := func() {
		left, err := d.journal.Spans(time.Now(), d.counted, spans)
		if err != nil {
			d.lostAt = time.Now()
			d.report(err)
		}
		spans, d.counted = spans[:0], left
	}
	d.store.spans.TakeEnded(everything, again, func(r *spanlog.Record) {
		if spans = append(spans, c.convert(r)); len(spans) == maxSpans {
			write()
		}
	})
	write()
	done = true
	d.boundCounts()
}

// boundCounts lets the counts of the oldest windows go where too many wait, of each window
// all or none. A window of which a file has some waits on.
func (d *directory) boundCounts() {
	n := 0
	for len(d.counted) > maxCounted {
		first := slices.IndexFunc(d.counted, func(w journal.Window) bool { return !w.Begun })
		if first < 0 {
			break
		}
		name := d.counted[first].File
		d.counted = slices.DeleteFunc(d.counted, func(w journal.Window) bool { return w.File == name })
		n++
	}
	if n > 0 {
		d.miss(n)
		d.report(fmt.Errorf("the counts by name of %d windows could not be written and are in memory alone", n))
	}
}

// writeKept writes the spans that outlive others, and whose samples have come: those that
// are worth most first, as there may be no room for all.
func (d *directory) writeKept(everything bool) {
	d.keptAt = time.Now()
	c := spanConverter{of: d}
	var (
		spans []journal.Span
		keys  []ident.Key
	)
	d.store.spans.EachPinned(everything, func(r *spanlog.Record) {
		spans, keys = append(spans, c.convert(r)), append(keys, ident.NewKey(r.SpanID))
	})
	if len(spans) == 0 {
		return
	}
	before := d.journal.Stats().KeptLeft
	d.report(d.journal.Kept(d.keptAt, sortedByRank(spans, d.store.spans.Ranks(keys))))
	if n := d.journal.Stats().KeptLeft; n > 0 && before == 0 {
		d.report(fmt.Errorf("%d of the %d slowest spans find no room in the quarter of %d bytes that is theirs: give WithDirectory more", n, len(spans), d.maxBytes))
	}
}

// sortedByRank returns the spans with the least ranks first.
func sortedByRank(spans []journal.Span, ranks []int) []journal.Span {
	order := make([]int, len(spans))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ranks[a], ranks[b]) })
	sorted := make([]journal.Span, len(spans))
	for i, from := range order {
		sorted[i] = spans[from]
	}
	return sorted
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
