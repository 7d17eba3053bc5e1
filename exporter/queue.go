// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spanprof/spanprof/internal/report"
)

const (
	// firstPause and maxPause bound the pause after a failed attempt. It doubles.
	// A server that fails every other time must not delay windows of ten seconds, so the first
	// pause is short. Five seconds spare a server that restarts.
	firstPause, maxPause = 250 * time.Millisecond, 5 * time.Second
	// manyFailures is the number of failures after which pauses have their full length.
	manyFailures = 6

	// maxUnpacked and maxUnpackedBytes bound the profiles that wait in the form in
	// which they were made: eight windows of six kinds. Wall time can have 30 MB each.
	maxUnpacked, maxUnpackedBytes = 48, 32 << 20

	// maxHalvings bounds how often a profile is halved: 64 parts of the 16,000 samples
	// that Pyroscope takes are a million samples.
	maxHalvings = 6

	// maxShutdown bounds a Shutdown without a deadline. Kubernetes gives a process
	// this time to end.
	maxShutdown = 30 * time.Second
	// lastChance is the time that must be left for another attempt during Shutdown.
	lastChance = 50 * time.Millisecond
	// margin is the end of Shutdown's time that an Exporter does not get. It can then still
	// return an error. It is at most a tenth of the time.
	margin = 100 * time.Millisecond

	forever = time.Duration(1<<63 - 1)
)

// QueueConfig bounds a [Queue]. A field that is 0 has its default.
type QueueConfig struct {
	// MaxBytes bounds the profiles that wait, by the sum of their pprof forms. The
	// oldest are dropped for a new one. The default is 32 MiB.
	MaxBytes int64
	// MaxAge is the age at which a waiting profile is dropped, counted from the end of
	// its window. The default is 10 min.
	MaxAge time.Duration
	// Timeout bounds one attempt. The default is 10 s.
	Timeout time.Duration
}

var _ Exporter = (*Queue)(nil)

// Queue is an Exporter in front of a [Destination] across a network. It keeps
// profiles in memory until they are delivered, bounded in bytes and age. What waits when
// the process dies is lost.
//
// One sender delivers them, first in first out. After a failed attempt a profile waits
// for 250 ms, doubled each time up to 5 s. Others that have failed less are sent
// meanwhile. While every attempt fails, attempts are as far apart. If it wants a longer pause,
// it gets one. A rejected profile is dropped and stops no others.
// A profile that is too large is halved until it fits.
//
// Delivery is at least once: a profile is sent again if an attempt ended without
// an answer. Each profile is counted exactly once in [Queue.Status] and in metrics.
// Failures are reported through otel.Handle, at most once a minute for each cause.
// The handler may use the Queue.
//
// A Queue is safe for concurrent use and must be shut down.
type Queue struct {
	name     string
	sink     sink
	config   QueueConfig
	reporter report.Reporter

	begin   sync.Once
	metrics *queueMetrics   // set by begin
	ctx     context.Context // of the attempts; ended when Shutdown gives up
	cancel  context.CancelFunc
	wake    chan struct{} // has an element if the worker has to look for work
	done    chan struct{} // closed when the worker has ended

	mu        sync.Mutex
	items     []*item // in the order of Export
	busy      *item   // is encoded or sent; not in items
	last      uint64  // the number of the newest item
	failures  int     // failed attempts since a success
	notBefore time.Time
	asked     bool // the destination has asked for notBefore
	failing   error
	flushes   []*flush
	closing   context.Context // of Shutdown, from its call on
	abandoned bool            // Shutdown has given up
	err       error           // the result of Shutdown
	status    Status          // without Name, Waiting and Bytes
	counted   Status          // the status at the last call of losses
	cause     error           // of the last loss
}

// sink is the far end: a Destination, or an Exporter without retries.
type sink struct {
	exporter bool
	send     func(context.Context, *Profile) error
	flush    func(context.Context) error // nil for a Destination
	shutdown func(context.Context) error
}

// item is a profile that waits.
type item struct {
	number    uint64
	profile   *Profile
	size      int64
	packed    bool // profile has its pprof form, not the much larger parsed form
	expires   time.Time
	notBefore time.Time
	failures  int
	unclear   int // failures with a bound, see RetryError.MaxAttempts
	halvings  int
	tried     bool
	doubtful  bool // an earlier attempt may have succeeded
}

// NewQueue returns a Queue in front of d. Its Shutdown shuts d down. The name is part of
// errors and metrics. It returns an error for an empty name, a nil d and a negative
// bound.
func NewQueue(name string, d Destination, c QueueConfig) (*Queue, error) {
	switch {
	case name == "":
		return nil, errors.New("exporter: the queue has no name, which errors and metrics need")
	case d == nil:
		return nil, fmt.Errorf("%s: the destination is nil", name)
	case c.MaxBytes < 0 || c.MaxAge < 0 || c.Timeout < 0:
		return nil, fmt.Errorf("%s: negative bound in %+v: use 0 for the default", name, c)
	}
	c.MaxBytes = cmp.Or(c.MaxBytes, 32<<20)
	c.MaxAge = cmp.Or(c.MaxAge, 10*time.Minute)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	return newQueue(name, sink{send: d.Send, shutdown: d.Shutdown}, c), nil
}

func newQueue(name string, s sink, c QueueConfig) *Queue {
	q := &Queue{name: name, sink: s, config: c, wake: make(chan struct{}, 1), done: make(chan struct{})}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q
}

// start runs the worker from the first call on.
func (q *Queue) start() {
	q.begin.Do(func() {
		var err error
		if q.metrics, err = newQueueMetrics(q.name); err != nil {
			q.report(fmt.Errorf("metrics: %w", err))
		}
		go q.work()
	})
}

// Export accepts p and returns at once. It returns ErrShutdown after Shutdown.
func (q *Queue) Export(_ context.Context, p *Profile) error {
	if p == nil {
		return fmt.Errorf("%s: the profile is nil", q.name)
	}
	q.start()
	dropped := false
	defer func() { q.concluded(dropped) }()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.status.Taken++
	if q.closing != nil {
		q.lose(unsent, 1, nil)
		return ErrShutdown
	}
	q.last++
	i := &item{number: q.last, profile: p, size: int64(p.Size())}
	if !q.sink.exporter {
		// A profile may have no time, and a clock may have been set back.
		end := time.Now()
		if !p.Start().IsZero() && p.End().Before(end) {
			end = p.End()
		}
		i.expires = end.Add(q.config.MaxAge)
	}
	dropped = q.makeRoom(maxUnpackedBytes-i.size, maxUnpacked-1, false)
	q.items = append(q.items, i)
	q.notify()
	return nil
}

// makeRoom drops the oldest items of one form until so many bytes and items remain. It reports
// whether it dropped any; the caller holds q.mu.
func (q *Queue) makeRoom(maxBytes int64, maxItems int, packed bool) bool {
	bytes, n := int64(0), 0
	for _, i := range q.items {
		if i.packed == packed {
			bytes, n = bytes+i.size, n+1
		}
	}
	before := len(q.items)
	q.items = slices.DeleteFunc(q.items, func(i *item) bool {
		if i.packed != packed || bytes <= maxBytes && n <= maxItems {
			return false
		}
		bytes, n = bytes-i.size, n-1
		q.lose("full", 1, nil)
		return true
	})
	return len(q.items) < before
}

// ForceFlush returns after every profile that Export accepted before has been
// delivered or dropped. The next attempt is made now, unless the destination has
// asked for time. It returns ErrShutdown after Shutdown. If ctx ends, the error has the number
// of waiting profiles. It also has the losses since the last ForceFlush.
func (q *Queue) ForceFlush(ctx context.Context) error {
	q.start()
	f := &flush{ctx: ctx, result: make(chan error, 1)}
	q.mu.Lock()
	if q.closing != nil {
		q.mu.Unlock()
		return ErrShutdown
	}
	f.after = q.last
	q.flushes = append(q.flushes, f)
	q.refresh()
	q.mu.Unlock()
	q.notify()
	var err error
	select {
	case err = <-f.result:
	case <-q.done:
		err = ErrShutdown
	case <-q.ctx.Done():
		err = ErrShutdown
	case <-ctx.Done():
		q.mu.Lock()
		err = fmt.Errorf("%s: %d profile(s) not delivered yet: %w", q.name, q.count(), q.because(ctx.Err()))
		q.mu.Unlock()
	}
	return errors.Join(err, q.losses())
}

// Shutdown sends what waits until ctx ends, for 30 s if ctx has no deadline, and
// shuts the destination down. Attempts are repeated until shortly before the deadline.
// It returns earlier if the destination wants a pause beyond the deadline.
// The error has the number of lost profiles. Shutdown returns when ctx ends
// even if the destination ignores ctx. It gives the error handler half a second for
// the last reports.
//
// Later calls wait for the first, and return nil or the error of ctx.
func (q *Queue) Shutdown(ctx context.Context) error {
	q.start()
	closing, cancel := q.closingContext(ctx)
	defer cancel()
	q.mu.Lock()
	if q.closing != nil {
		q.mu.Unlock()
		select {
		case <-q.done:
		case <-q.ctx.Done():
		case <-ctx.Done():
			return fmt.Errorf("%s: shut down: %w", q.name, ctx.Err())
		}
		return nil
	}
	q.closing = closing
	q.refresh()
	q.mu.Unlock()
	q.notify()
	select {
	case <-q.done:
	case <-closing.Done():
		q.abandon(closing.Err())
		if q.sink.exporter {
			select {
			case <-q.done:
			case <-ctx.Done():
			}
		}
	}
	q.mu.Lock()
	err := q.err
	q.mu.Unlock()
	select {
	case <-q.done:
	default:
		if err == nil {
			err = fmt.Errorf("%s: shut down: %w", q.name, closing.Err())
		}
	}
	q.reporter.Wait(ctx)
	return errors.Join(err, q.losses())
}

// closingContext returns the context in which what waits is delivered and the sink is
// shut down.
func (q *Queue) closingContext(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, bounded := ctx.Deadline()
	switch {
	case q.sink.exporter && bounded:
		return context.WithDeadline(ctx, deadline.Add(-max(0, min(margin, time.Until(deadline)/10))))
	case q.sink.exporter || bounded:
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, maxShutdown)
}

// abandon counts what waits and is being sent as unsent, and ends the attempt.
func (q *Queue) abandon(cause error) {
	q.mu.Lock()
	if n := q.count(); !q.abandoned && n > 0 {
		q.err = fmt.Errorf("%s: %d profile(s) not exported: %w", q.name, n, q.because(cause))
		q.lose(unsent, uint64(n), nil)
	}
	q.abandoned = true
	q.items = nil
	q.mu.Unlock()
	q.cancel()
	q.observe()
	q.notify()
}

// refresh makes the next attempts due, unless the destination has asked for time; the
// caller holds q.mu.
func (q *Queue) refresh() {
	if q.asked && time.Now().Before(q.notBefore) {
		return
	}
	q.failures, q.notBefore = 0, time.Time{}
	for _, i := range q.items {
		i.failures, i.notBefore = 0, time.Time{}
	}
}

func (q *Queue) notify() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *Queue) report(err error) { q.reporter.Report(fmt.Errorf("%s: %w", q.name, err)) }
