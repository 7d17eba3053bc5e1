// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/spanprof/spanprof/internal/handoff"
)

var _ Exporter = (*Queue)(nil)

// Queue is an Exporter in front of a [Destination] across a network. It keeps
// the profiles until the destination has taken them, bounded in bytes and in
// age, and sends them one at a time, the oldest first. What fails is tried again:
// after the time that the destination asks for, or after 0.1 s at first and up to
// 30 s later, with jitter. When the oldest has failed twice, others are tried in
// between: a profile that fails while others are taken goes behind them, and is
// dropped when that has happened five times, unless the destination refuses it or
// asks for time, as one that limits the rate does.
//
// Delivery is at least once: a profile whose attempt ends without an answer is
// sent again. What is lost is counted, in [Queue.Stats] and in OTel metrics.
// The first failure after a success and every profile that the destination
// rejects are reported through otel.Handle, whose handler may use the Queue. That
// it works again is no error, and not reported: QueueStats.LastSuccess says so.
//
// A Queue is safe for concurrent use and must be shut down: it holds a
// goroutine from NewQueue on.
type Queue struct {
	name        string
	destination Destination
	config      queueConfig
	metrics     *queueMetrics
	reporter    handoff.Reporter
	lock        *os.File                    // of the spill directory; nil without one
	backoff     *backoff.ExponentialBackOff // guarded by mu

	ctx    context.Context // of the attempts; ended when Shutdown gives up
	cancel context.CancelFunc
	wake   chan struct{} // holds a token when the worker has to look again
	done   chan struct{} // closed when the worker has ended
	shut   chan struct{} // closed when Shutdown returns
	err    error         // what Shutdown returns; set before done is closed

	mu        sync.Mutex
	waiting   []queued // oldest first
	sending   *queued  // nil when none is
	ending    uint64   // the number of a profile that the worker is done with but for its file and metrics; 0 if there is none
	bytes     int64    // of waiting and sending
	last      uint64   // the number of the newest profile
	flushes   []queueFlush
	closing   context.Context // that of Shutdown, from its call on
	before    QueueStats      // at its call
	abandoned bool            // Shutdown has given up, or has nothing left to do
	left      error           // that profiles stayed, once abandoned
	notBefore time.Time       // when the next attempt is due
	asked     bool            // the destination has asked for notBefore
	failure   error           // of the last attempt, if that is to be repeated
	failures  int             // in a row
	tried     uint64          // the number of the profile that failed last
	blamed    bool            // that one has proved bad: the pause is for its sake alone
	answers   uint64          // 1 and the number of profiles that were taken or rejected
	lagging   bool            // profiles were dropped, and that was reported
	stats     QueueStats      // Waiting and WaitingBytes are not kept here
}

// maxShutdown is how long Shutdown takes where nobody says. It is what Kubernetes
// gives a process to end.
const maxShutdown = 30 * time.Second

// queueFlush is a call of ForceFlush.
type queueFlush struct {
	after uint64        // the number of the newest profile that it waits for
	done  chan struct{} // closed when that and all before it are gone
}

// NewQueue returns a running Queue in front of d, of which it takes ownership
// unless there is an error.
// The name goes into the errors and into the metrics: as otel.component.type, and,
// with a number that tells Queues of that name apart, as otel.component.name.
//
// It returns an error for an option that makes no sense, a spill directory that
// cannot be written, and metrics that the MeterProvider refuses.
func NewQueue(name string, d Destination, opts ...QueueOption) (*Queue, error) {
	c, err := newQueueConfig(opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	q := &Queue{
		name:        name,
		destination: d,
		config:      c,
		backoff:     newBackoff(),
		wake:        make(chan struct{}, 1),
		done:        make(chan struct{}),
		shut:        make(chan struct{}),
		answers:     1,
	}
	if c.spill {
		var left []queued
		if q.lock, left, err = openSpill(c.dir); err != nil {
			return nil, fmt.Errorf("%s: spill directory: %w", name, err)
		}
		q.adopt(left)
	}
	q.metrics, err = newQueueMetrics(c.meterProvider, name, q.Stats)
	if err != nil {
		q.unlock()
		return nil, fmt.Errorf("%s: metrics: %w", name, err)
	}
	// A file that is too large by itself is no reason to drop the others.
	q.mu.Lock() // the metrics ask for the Stats from now on
	dropped := q.drop(&q.stats.Full, func(item queued) bool { return item.size > c.maxBytes })
	dropped = append(dropped, q.makeRoom(0)...)
	q.mu.Unlock()
	q.forget(dropped, full)
	q.ctx, q.cancel = context.WithCancel(context.Background())
	go q.work()
	return q, nil
}

func newBackoff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	// The pauses hold up every profile. Where a server fails every other time,
	// they would add up to more than there is time if they began at a second.
	b.InitialInterval, b.Multiplier, b.MaxInterval = 100*time.Millisecond, 2, 20*time.Second // and half of it more, by the jitter
	return b
}

// Export takes p over and returns at once, after it has written a file where
// WithSpill is set. It returns ErrShutdown after Shutdown, and an error if p
// cannot be encoded, is larger than the Queue, or has no room beside the profile
// that is being sent.
func (q *Queue) Export(_ context.Context, p *Profile) error {
	if p == nil {
		return fmt.Errorf("%s: the profile is nil", q.name)
	}
	data, err := p.Pprof()
	if err != nil {
		q.lose(unreadable)
		return fmt.Errorf("%s: %w", q.name, err)
	}
	if n := int64(len(data)); n > q.config.maxBytes {
		q.lose(full)
		return fmt.Errorf("%s: a %s profile of %d bytes is larger than the queue, which holds %d: see WithMaxBytes", q.name, p.Kind(), n, q.config.maxBytes)
	}
	if q.isClosing() {
		q.lose(unsent)
		return ErrShutdown
	}
	item, notSpilled := q.item(p, data)

	q.mu.Lock()
	if q.closing != nil {
		q.mu.Unlock()
		item.remove()
		q.lose(unsent)
		return ErrShutdown
	}
	if notSpilled != nil {
		q.stats.NotSpilled++
	}
	if q.sending != nil && q.sending.size+item.size > q.config.maxBytes || item.size > q.config.maxBytes {
		q.mu.Unlock()
		item.remove()
		q.lose(full)
		return fmt.Errorf("%s: no room for a %s profile of %d bytes beside what is being sent: see WithMaxBytes", q.name, p.Kind(), item.size)
	}
	dropped := q.makeRoom(item.size)
	lagging := q.lagging
	q.lagging = lagging || len(dropped) > 0
	q.last++
	item.number = q.last
	q.waiting = append(q.waiting, item)
	q.bytes += item.size
	if q.blamed {
		q.blamed, q.failures = false, 0
		q.backoff.Reset()
		q.hasten()
	}
	q.settle()
	q.mu.Unlock()

	q.notify()
	q.forget(dropped, full)
	if len(dropped) > 0 && !lagging {
		q.report(errors.New("the queue is full, the oldest profiles are being dropped")) //nolint:contextcheck // the report outlives the call
	}
	if notSpilled != nil {
		q.report(fmt.Errorf("a %s profile waits in memory: %w", p.Kind(), notSpilled)) //nolint:contextcheck // the report outlives the call
	}
	return nil
}

// item returns what waits for p, and why no file does.
func (q *Queue) item(p *Profile, data []byte) (queued, error) {
	w := Window{Kind: p.Kind(), Start: p.Start(), Duration: p.Duration(), Resource: p.Resource()}
	end := p.End()
	// A user's profile may be without a time, and a clock may have been set back.
	if now := time.Now(); p.Start().IsZero() || end.After(now) {
		end = now
	}
	if q.config.spill {
		item, err := spill(q.config.dir, w, end, data)
		if err == nil {
			return item, nil
		}
		return newQueued(w, end, data), err
	}
	return newQueued(w, end, data), nil
}

// ForceFlush returns after every profile that Export took before it has been
// delivered or dropped. If an attempt has failed, the next one is made now,
// unless the destination has asked for a later time. It returns ctx's error,
// with the number of profiles that wait, or ErrShutdown.
func (q *Queue) ForceFlush(ctx context.Context) error {
	q.mu.Lock()
	if q.closing != nil {
		q.mu.Unlock()
		return ErrShutdown
	}
	f := queueFlush{after: q.last, done: make(chan struct{})}
	q.flushes = append(q.flushes, f)
	q.hasten()
	q.settle()
	q.mu.Unlock()

	q.notify()
	select {
	case <-f.done:
		return nil
	case <-q.done:
	case <-q.ctx.Done():
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flushes = slices.DeleteFunc(q.flushes, func(other queueFlush) bool { return other == f })
	select {
	case <-f.done:
		return nil
	default:
	}
	if q.abandoned {
		return ErrShutdown
	}
	return fmt.Errorf("%s: %d profile(s) not delivered yet: %w", q.name, q.count(), q.because(ctx.Err()))
}

// unlock leaves the spill directory to others. A second call does nothing.
func (q *Queue) unlock() {
	if q.lock != nil {
		_ = q.lock.Close()
	}
}

// because adds why the last attempt failed to the end of a context; the caller
// holds q.mu.
func (q *Queue) because(err error) error {
	if q.failure == nil {
		return err
	}
	return fmt.Errorf("%w (last attempt: %w)", err, q.failure)
}

// Stats returns the counts.
func (q *Queue) Stats() QueueStats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.stats
	s.Waiting, s.WaitingBytes = q.count(), q.bytes
	return s
}

// count returns how many profiles are not done with; the caller holds q.mu.
func (q *Queue) count() int {
	if q.sending != nil {
		return len(q.waiting) + 1
	}
	return len(q.waiting)
}

func (q *Queue) isClosing() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closing != nil
}

func (q *Queue) notify() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *Queue) report(err error) {
	q.reporter.Report(fmt.Errorf("%s: %w", q.name, err))
}
