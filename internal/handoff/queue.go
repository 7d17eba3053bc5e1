// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"slices"
	"sync"
	"time"
)

const (
	// capacity is how many items may wait. Eight windows of each of the six
	// kinds of profile, of ten seconds, bridge 80 seconds without the
	// destination: a redeployment of it, say.
	capacity = 48
	// maxBytes is how much memory those may take. Most windows are of some
	// 100 kB; but one of wall time may have 30 MB, and one of a CPU profile
	// on a machine of many cores not much less.
	maxBytes = 32 << 20
	// lastWord is the end of Shutdown's time that a sink does not get to deliver,
	// but to say what it could not: at most a tenth of what there is.
	lastWord = 100 * time.Millisecond
)

// Queue hands items to a Sink, one at a time and in order, also while the sink
// takes long for a ForceFlush: the one who asked waits for that, and nobody else.
// The producer never waits: when the queue is full, by number or by bytes, the
// oldest waiting items are dropped and counted. The newest stays, however large it
// is.
// An Export that returns an error, panics or ends its goroutine is counted and
// goes to otel.Handle.
//
// A Queue is safe for concurrent use and holds a goroutine until Shutdown.
type Queue[T any] struct {
	sink        Sink[T]
	errShutdown error
	size        func(T) int
	reporter    Reporter

	ctx    context.Context // of what the sink does; ended when Shutdown gives up
	cancel context.CancelFunc

	flushing    sync.WaitGroup  // the running ForceFlushes
	flushCtx    context.Context // of these; ended before the sink's Shutdown
	endFlushing context.CancelFunc

	wake chan struct{} // holds a token when the worker has to look again
	done chan struct{} // closed when the worker has ended
	err  error         // of the sink's Shutdown; set before done is closed

	mu        sync.Mutex
	waiting   []T
	bytes     int             // of waiting
	pushed    uint64          // items ever put into waiting
	flushes   []*flush        // in the order of their calls
	closing   context.Context // that of Shutdown, from its call on
	busy      bool            // an Export is running
	abandoned bool            // that Export has been counted as dropped
	lagging   bool            // items were dropped since the worker last caught up
	stats     Stats           // Waiting is not kept here
}

// flush is a call of Flush that waits for its turn.
type flush struct {
	ctx   context.Context
	after uint64     // the number of items that were pushed before it
	done  chan error // has room for the one result
}

// New returns a running Queue in front of sink, whose items take so many bytes as
// size says, always the same for an item. Push and Flush return errShutdown after
// Shutdown: the sentinel belongs to the package whose users see it.
func New[T any](sink Sink[T], size func(T) int, errShutdown error) *Queue[T] {
	q := &Queue[T]{
		sink:        sink,
		errShutdown: errShutdown,
		size:        size,
		wake:        make(chan struct{}, 1),
		done:        make(chan struct{}),
	}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	q.flushCtx, q.endFlushing = context.WithCancel(q.ctx)
	go q.work()
	return q
}

// Push hands item over and returns at once. The only error is errShutdown,
// after Shutdown; the item is then counted as dropped.
func (q *Queue[T]) Push(item T) error {
	size := q.size(item)
	q.mu.Lock()
	if q.closing != nil {
		q.stats.Dropped++
		q.mu.Unlock()
		return q.errShutdown
	}
	full := false
	for len(q.waiting) > 0 && (len(q.waiting) == capacity || q.bytes+size > maxBytes) {
		q.take()
		q.stats.Dropped++
		full = true
	}
	report := full && !q.lagging
	q.lagging = q.lagging || full
	q.waiting = append(q.waiting, item)
	q.bytes += size
	q.pushed++
	q.mu.Unlock()

	q.notify()
	if report {
		q.Report(fmt.Errorf("export to %T: too slow, the oldest waiting profiles are being dropped", q.sink))
	}
	return nil
}

// Flush returns after every item that was pushed before it has been exported
// or dropped, and the sink's ForceFlush has returned. It returns the error of
// ForceFlush, that of ctx if it ends first, or errShutdown if Shutdown has come to
// the sink's: what is to be delivered then is up to that.
func (q *Queue[T]) Flush(ctx context.Context) error {
	q.mu.Lock()
	if q.closing != nil {
		q.mu.Unlock()
		return q.errShutdown
	}
	f := &flush{ctx: ctx, after: q.pushed, done: make(chan error, 1)}
	q.flushes = append(q.flushes, f)
	q.mu.Unlock()

	q.notify()
	select {
	case err := <-f.done:
		return err
	case <-ctx.Done():
		// The worker may be stuck in Export for ever: it is not left
		// to it to forget the calls that have given up.
		q.mu.Lock()
		q.flushes = slices.DeleteFunc(q.flushes, func(other *flush) bool { return other == f })
		q.mu.Unlock()
		return ctx.Err()
	case <-q.ctx.Done():
		return q.errShutdown
	}
}

// Report gives err to otel.Handle and does not wait for it, so that the error
// handler may call Flush and Shutdown, whatever it is that has failed. The
// errors of a Queue arrive one at a time and in order; when too many of them wait
// for the handler, only their number arrives.
func (q *Queue[T]) Report(err error) { q.reporter.Report(err) }

// Shutdown lets the worker export what is waiting, shuts the sink down and
// returns its error. It gives the error handler half a second for the last
// reports, and no more: the handler may be the caller. Before ctx ends, by a tenth
// of a second or of the time there is, it cancels the running Export and counts what
// is left as dropped. Then it returns an error that says how many items that is, with
// the sink's own if that comes before ctx ends; the sink may ignore its context. Calls
// after the first do nothing and return nil.
func (q *Queue[T]) Shutdown(ctx context.Context) error {
	q.mu.Lock()
	if q.closing != nil {
		q.mu.Unlock()
		return nil
	}
	sinkCtx, cancel := withoutLastWord(ctx)
	defer cancel()
	q.closing = sinkCtx
	q.mu.Unlock()

	q.notify()
	select {
	case <-q.done:
		q.reporter.Wait(ctx)
		return q.err
	case <-sinkCtx.Done():
	}

	q.mu.Lock()
	left := len(q.waiting)
	q.waiting, q.bytes = nil, 0
	if q.busy {
		left++
		q.abandoned = true
	}
	q.stats.Dropped += uint64(left)
	q.mu.Unlock()
	// Not before the count: Flush and the worker would otherwise see an
	// end that Stats does not show yet.
	q.cancel()
	var err error
	if left > 0 {
		err = fmt.Errorf("shut down %T: %d profile(s) not exported: %w", q.sink, left, sinkCtx.Err())
	}
	select {
	case <-q.done:
		return errors.Join(err, q.err)
	case <-ctx.Done():
	}
	if left == 0 {
		err = fmt.Errorf("shut down %T: %w", q.sink, ctx.Err())
	}
	return err
}

// withoutLastWord returns the context of the sink in a Shutdown with ctx.
func withoutLastWord(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-max(0, min(lastWord, time.Until(deadline)/10))))
}

// Stats returns the counts.
func (q *Queue[T]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.stats
	s.Waiting = len(q.waiting)
	if q.busy && !q.abandoned {
		s.Waiting++
	}
	return s
}

// take removes the oldest waiting item; the caller holds q.mu.
func (q *Queue[T]) take() T {
	item := q.waiting[0]
	q.waiting = slices.Delete(q.waiting, 0, 1)
	q.bytes -= q.size(item)
	return item
}

func (q *Queue[T]) notify() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *Queue[T]) work() {
	defer close(q.done)
	// A goroutine inherits the labels of its creator. What an exporter
	// does must not be counted as work of the span that happened to be
	// open when the queue was made.
	pprof.SetGoroutineLabels(context.Background())
	for {
		q.mu.Lock()
		switch {
		case len(q.flushes) > 0 && q.flushes[0].after <= q.pushed-uint64(len(q.waiting)):
			f := q.flushes[0]
			q.flushes = slices.Delete(q.flushes, 0, 1)
			q.mu.Unlock()
			q.flushing.Go(func() { f.done <- q.forceFlush(f.ctx) })
		case len(q.waiting) > 0:
			item := q.take()
			q.busy = true
			q.mu.Unlock()
			q.finish(Contain(func() error { return q.sink.Export(q.ctx, item) }))
		case q.closing != nil:
			ctx := q.closing
			q.mu.Unlock()
			q.endFlushing()
			q.flushing.Wait()
			q.err = Contain(func() error { return q.sink.Shutdown(ctx) })
			return
		default:
			q.lagging = false
			q.mu.Unlock()
			<-q.wake
		}
	}
}

// finish counts an Export that has returned.
func (q *Queue[T]) finish(err error) {
	q.mu.Lock()
	abandoned := q.abandoned
	q.busy, q.abandoned = false, false
	switch {
	case abandoned:
	case err != nil:
		q.stats.Failed++
	default:
		q.stats.Exported++
	}
	q.mu.Unlock()
	if err != nil && !abandoned {
		q.Report(fmt.Errorf("export to %T: %w", q.sink, err))
	}
}

func (q *Queue[T]) forceFlush(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(q.flushCtx, cancel)() //nolint:contextcheck // a flush ends with either context
	err := Contain(func() error { return q.sink.ForceFlush(ctx) })
	if err != nil && q.flushCtx.Err() != nil {
		return q.errShutdown
	}
	return err
}
