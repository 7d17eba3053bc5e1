// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/spanprof/spanprof/internal/handoff"
)

// work sends what waits, until Shutdown.
func (q *Queue) work() {
	defer close(q.done)
	// A goroutine inherits the labels of its creator. What a destination
	// does must not be counted as work of the span that happened to be
	// open when the Queue was made.
	pprof.SetGoroutineLabels(context.Background())
	for {
		item, ok := q.next()
		if !ok {
			break
		}
		q.finish(item, q.attempt(item))
	}
	err := q.abandon(context.DeadlineExceeded)
	q.err = errors.Join(err, handoff.Contain(func() error { return q.destination.Shutdown(q.closing) }))
}

// next returns the profile to send when it is due. It returns false when
// Shutdown has nothing left to send, or no time for it.
func (q *Queue) next() (*queued, bool) {
	for {
		q.mu.Lock()
		now := time.Now()
		dropped := q.expire(now)
		item, pause, ok := q.due(now)
		q.settle()
		q.mu.Unlock()

		q.forget(dropped, expired)
		if len(dropped) > 0 {
			q.report(fmt.Errorf("%d profile(s) dropped: not delivered within %v", len(dropped), q.config.maxAge))
		}
		switch {
		case item != nil:
			if item.attempts > 0 {
				q.metrics.retry()
			}
			return item, true
		case !ok:
			return nil, false
		}
		q.sleep(pause)
	}
}

// due takes the oldest profile if it is due; otherwise it returns how long it
// makes sense to sleep, or false if Shutdown is at its end. The caller holds
// q.mu.
func (q *Queue) due(now time.Time) (item *queued, pause time.Duration, ok bool) {
	if len(q.waiting) == 0 {
		q.lagging = false
		return nil, forever, q.closing == nil
	}
	if pause = q.notBefore.Sub(now); pause > 0 {
		deadline, bounded := time.Time{}, false
		if q.closing != nil {
			deadline, bounded = q.closing.Deadline()
		}
		untilExpired := q.waiting[0].end.Add(q.config.maxAge).Sub(now)
		return nil, min(pause, untilExpired), !bounded || q.notBefore.Before(deadline)
	}
	q.sending = &q.cut(1)[0]
	if q.sending.attempts > 0 {
		q.stats.Retries++
	}
	return q.sending, 0, true
}

// forever is a sleep that only a wake ends.
const forever = time.Duration(1<<63 - 1)

func (q *Queue) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-q.wake:
	case <-timer.C:
	case <-q.ctx.Done():
	}
}

// attempt sends a profile once.
func (q *Queue) attempt(item *queued) error {
	p, err := item.load()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(q.ctx, q.config.timeout)
	defer cancel()
	err = handoff.Contain(func() error { return q.destination.Send(ctx, p) })
	if err == nil {
		return nil
	}
	var retry *RetryError
	if ctx.Err() != nil && !errors.As(err, &retry) {
		return &RetryError{Err: fmt.Errorf("no answer within %v: %w", q.config.timeout, err)}
	}
	return err
}

// finish decides what becomes of a profile after an attempt.
func (q *Queue) finish(item *queued, err error) {
	var (
		retry   *RetryError
		damaged *unreadableError
		reason  dropReason
		dropped []queued
		first   bool // failure after a success
	)
	q.mu.Lock()
	if q.abandoned {
		// Shutdown has counted it.
		if err == nil && item.file != "" {
			q.stats.Kept--
			q.stats.Exported++
		}
		q.mu.Unlock()
		if err == nil && item.file != "" {
			q.metrics.export(item.doubtful)
			item.remove()
		}
		return
	}
	q.sending = nil
	switch {
	case err == nil:
		q.bytes -= item.size
		q.stats.Exported++
		if item.doubtful {
			q.stats.Duplicates++
		}
		q.stats.LastSuccess = time.Now()
		q.succeed()
	case errors.As(err, &retry):
		item.attempts++
		item.doubtful = item.doubtful || !retry.Refused
		first = q.failure == nil
		q.failure = err
		q.asked = retry.After > 0
		pause := min(retry.After, q.config.maxAge) // what waits now is gone by then
		if !q.asked {
			pause = q.backoff.NextBackOff()
		}
		q.notBefore = time.Now().Add(pause)
		q.waiting = slices.Insert(q.waiting, 0, *item)
		dropped = q.makeRoom(0)
	case errors.As(err, &damaged):
		q.bytes -= item.size
		q.stats.Unreadable++
		reason = unreadable
		err = fmt.Errorf("a profile dropped: %w", err)
	default:
		q.bytes -= item.size
		q.stats.Rejected++
		reason = rejected
		err = fmt.Errorf("%s profile dropped: %w", item.window.Kind, err)
		q.succeed() // it answers
	}
	q.settle()
	q.mu.Unlock()

	q.forget(dropped, full)
	switch {
	case err == nil:
		q.metrics.export(item.doubtful)
		item.remove()
	case reason != "":
		q.forget([]queued{*item}, reason)
		q.report(err)
	case first:
		q.report(fmt.Errorf("will try again: %w", err))
	}
}

// succeed ends an outage; the caller holds q.mu.
func (q *Queue) succeed() {
	q.failure, q.notBefore, q.asked = nil, time.Time{}, false
	q.backoff.Reset()
}

// hasten makes the next attempt due, unless the destination wants it later. The
// caller holds q.mu.
func (q *Queue) hasten() {
	if !q.asked {
		q.notBefore = time.Time{}
	}
}

// makeRoom takes the oldest profiles out until n bytes fit; the caller holds
// q.mu.
func (q *Queue) makeRoom(n int64) (dropped []queued) {
	i := 0
	for ; i < len(q.waiting) && q.bytes+n > q.config.maxBytes; i++ {
		q.bytes -= q.waiting[i].size
	}
	q.stats.Full += uint64(i)
	return q.cut(i)
}

// expire takes the profiles out that are too old; the caller holds q.mu.
func (q *Queue) expire(now time.Time) (dropped []queued) {
	i := 0
	for ; i < len(q.waiting) && now.Sub(q.waiting[i].end) >= q.config.maxAge; i++ {
		q.bytes -= q.waiting[i].size
	}
	q.stats.Expired += uint64(i)
	return q.cut(i)
}

// cut takes the first n profiles out. The caller holds q.mu.
func (q *Queue) cut(n int) []queued {
	out := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return out
}

// settle ends the flushes that have nothing to wait for any more; the caller
// holds q.mu.
func (q *Queue) settle() {
	oldest := q.last + 1
	if len(q.waiting) > 0 {
		oldest = q.waiting[0].number
	}
	if q.sending != nil {
		oldest = q.sending.number
	}
	q.flushes = slices.DeleteFunc(q.flushes, func(f queueFlush) bool {
		if f.after < oldest {
			close(f.done)
			return true
		}
		return false
	})
}

// adopt takes over what an earlier process has left. Nothing runs yet.
func (q *Queue) adopt(left []queued) {
	for _, item := range left {
		q.last++
		item.number = q.last
		q.waiting = append(q.waiting, item)
		q.bytes += item.size
	}
}

// forget counts profiles in the metrics that were dropped, and removes their
// files.
func (q *Queue) forget(items []queued, reason dropReason) {
	q.metrics.drop(len(items), reason)
	for _, item := range items {
		item.remove()
	}
}

// lose counts a profile that never got to wait.
func (q *Queue) lose(reason dropReason) {
	q.mu.Lock()
	switch reason {
	case full:
		q.stats.Full++
	case unreadable:
		q.stats.Unreadable++
	default:
		q.stats.Unsent++
	}
	q.mu.Unlock()
	q.metrics.drop(1, reason)
}
