// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"context"
	"errors"
	"fmt"
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
// Up to four are sent at once while more than eight wait, for the parts of one that was
// split, and during Shutdown, so that a slow destination catches up after an outage.
// Each is begun 50 ms after the one before: a destination that answers faster gets one
// at a time.
//
// Delivery is at least once: a profile whose attempt ends without an answer is
// sent again. What is lost is counted, in [Queue.Stats] and in OTel metrics.
// The first failure after a success and every profile that the destination
// rejects are reported through otel.Handle, at most once a minute for each cause; the
// handler may use the Queue. That it works again is no error, and not reported:
// LaneStatus.LastSuccess says so.
//
// A Queue is safe for concurrent use and must be shut down: it holds a
// goroutine from NewQueue on.
type Queue struct{ lane *lane }

// NewQueue returns a running Queue in front of d, of which it takes ownership
// unless there is an error.
// The name goes into the errors and into the metrics: as otel.component.type, and,
// with a number that tells Queues of that name apart, as otel.component.name.
//
// It returns an error for an empty name, a nil d, an option that makes no sense, a
// spill directory that
// cannot be written, and metrics that the MeterProvider refuses.
func NewQueue(name string, d Destination, opts ...QueueOption) (*Queue, error) {
	if name == "" {
		return nil, errors.New("exporter: the queue has no name, which its errors and metrics are told apart by")
	}
	c, err := newQueueConfig(opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if d == nil {
		return nil, fmt.Errorf("%s: the destination is nil", name)
	}
	s := sink{send: d.Send}
	if d, ok := d.(interface {
		Split(p *Profile) ([]*Profile, error)
	}); ok {
		s.split = d.Split
	}
	if d, ok := d.(interface {
		Shutdown(ctx context.Context) error
	}); ok {
		s.shutdown = d.Shutdown
	}
	l := newLane(name, s, c)
	l.retry = newRetry()
	var left []*item
	if c.spill {
		if l.lock, left, err = openSpill(c.dir); err != nil {
			return nil, fmt.Errorf("%s: spill directory: %w", name, err)
		}
	}
	if l.metrics, err = newLaneMetrics(c.meterProvider, name, l.Status); err != nil {
		l.unlock()
		return nil, fmt.Errorf("%s: metrics: %w", name, err)
	}
	l.mu.Lock() // the metrics ask for the Status from now on
	dropped := l.adopt(left)
	l.mu.Unlock()
	l.forget(dropped)
	l.start()
	return &Queue{l}, nil
}

// Export takes p over and returns at once, after it has written a file where
// WithSpill is set. It returns ErrShutdown after Shutdown, and an error if p
// cannot be encoded, is larger than the Queue, or has no room beside what is being
// sent. A profiler and a [Multi] do not wait for that: the Queue's worker does it for
// them.
func (q *Queue) Export(_ context.Context, p *Profile) error {
	return q.lane.export(p)
}

// ForceFlush returns after every profile that Export took before it has been
// delivered or dropped. If an attempt has failed, the next one is made now,
// unless the destination has asked for a later time, and the pauses begin at 0.1 s
// again and are short enough for attempts until ctx's deadline. It returns ctx's error, with the number of profiles that wait, or
// ErrShutdown.
func (q *Queue) ForceFlush(ctx context.Context) error { return q.lane.flush(ctx) }

// Shutdown sends what waits until ctx ends, for 30 s if ctx has no deadline, and
// shuts the destination down. What fails is tried again after short pauses, the last
// time shortly before the deadline; where the destination asks for more time than
// there is, it does not wait for that. It gives the error handler half a second
// for the last reports, and no more: the handler may be the caller. The error
// says how many profiles stayed, whether they are in the spill directory or lost,
// and how many were dropped meanwhile. Shutdown returns when ctx ends even if the
// destination ignores its own.
//
// Calls after the first do nothing but wait for it, and return nil, or ctx's error
// if that comes first.
func (q *Queue) Shutdown(ctx context.Context) error {
	before := q.Stats()
	err := q.lane.shutdown(ctx)
	if n, lost := q.Stats().lostSince(before); n > 0 {
		err = errors.Join(err, fmt.Errorf("%s: %d profile(s) dropped during Shutdown: %s", q.lane.name, n, lost))
	}
	return err
}

// Stats returns the account.
func (q *Queue) Stats() LaneStatus { return q.lane.Status() }
