// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"cmp"
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
	defer q.unlock()
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
		if len(dropped) > 0 {
			q.ending = dropped[0].number
			if slices.ContainsFunc(dropped, func(item queued) bool { return item.number == q.tried }) {
				q.hasten() // the pause was for its sake
			}
		}
		item, pause, ok := q.due(now)
		q.mu.Unlock()

		if len(dropped) > 0 {
			q.forget(dropped, expired)
			q.end()
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

// due takes the next profile if one is due; otherwise it returns how long it
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
		untilExpired := pause
		for _, item := range q.waiting {
			untilExpired = min(untilExpired, item.end.Add(q.config.maxAge).Sub(now))
		}
		return nil, min(pause, untilExpired), !bounded || q.notBefore.Before(deadline)
	}
	item = q.take()
	if item.attempts > 0 {
		q.stats.Retries++
	}
	sending := *item // of its own: the worker changes the item without the lock
	q.sending = &sending
	return item, 0, true
}

const (
	// failuresInDoubt is after how many failures in a row another profile is
	// tried. One is common: a server that restarts.
	failuresInDoubt = 2
	// maxBad is how often a profile may fail although others were taken in
	// between. A server that fails every other time loses 1 in 64 by it.
	maxBad = 5
)

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
	item.mark(true)
	ctx, cancel := context.WithTimeout(q.ctx, q.config.timeout)
	defer cancel()
	err = handoff.Contain(func() error { return q.destination.Send(ctx, p) })
	if err == nil {
		return nil
	}
	retry, ok := errors.AsType[*RetryError](err)
	if ok && retry.Refused {
		item.mark(item.doubtful)
	}
	if !ok && ctx.Err() != nil {
		return &RetryError{Err: fmt.Errorf("no answer within %v: %w", q.config.timeout, err)}
	}
	return err
}

// finish decides what becomes of a profile after an attempt.
func (q *Queue) finish(item *queued, err error) {
	q.mu.Lock()
	if q.abandoned {
		q.mu.Unlock()
		q.finishLate(item, err)
		return
	}
	q.sending = nil
	if retry, ok := errors.AsType[*RetryError](err); ok {
		first := q.failure == nil
		q.failure = err
		dropped, reason := q.postpone(item, retry)
		q.ending = item.number
		q.mu.Unlock()

		q.forget(dropped, reason)
		q.end()
		switch {
		case reason == failing:
			q.report(fmt.Errorf("%s profile dropped: it fails while others are taken: %w", cmp.Or(item.window.Kind, "spilled"), err))
		case first:
			q.report(fmt.Errorf("will try again: %w", err))
		}
		return
	}
	reason := q.conclude(item, err)
	q.ending = item.number
	q.mu.Unlock()

	if err == nil {
		q.metrics.export(item.doubtful)
		item.remove()
	} else {
		q.forget([]queued{*item}, reason)
		q.report(fmt.Errorf("%s profile dropped: %w", cmp.Or(item.window.Kind, "spilled"), err))
	}
	q.end()
}

// end lets the flushes go that waited for what the worker has finished: not
// before its file is gone, lest it be sent twice by a program that flushes and
// exits.
func (q *Queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ending = 0
	q.settle()
}

// finishLate is finish after Shutdown has given up and counted the profile. If
// it has been delivered all the same, it is no more for the next Queue.
func (q *Queue) finishLate(item *queued, err error) {
	if err != nil || item.file == "" {
		return
	}
	q.mu.Lock()
	q.stats.Kept--
	q.stats.Exported++
	q.mu.Unlock()
	q.metrics.export(item.doubtful)
	item.remove()
}

// postpone puts a profile back to its place, and returns what is dropped then.
// The caller holds q.mu.
func (q *Queue) postpone(item *queued, retry *RetryError) (dropped []queued, reason dropReason) {
	item.unload()
	item.attempts++
	q.tried = item.number
	q.failures++
	if item.failedAt != 0 && item.failedAt < q.answers {
		item.bad++
	}
	item.failedAt = q.answers
	q.blamed = item.bad > 0
	item.doubtful = item.doubtful || !retry.Refused
	q.asked = retry.After > 0
	pause := min(retry.After, q.config.maxAge) // what waits now is gone by then
	if !q.asked {
		pause = q.backoff.NextBackOff()
	}
	q.notBefore = time.Now().Add(pause)
	// A limit of the destination's passes: what it holds back only goes behind
	// the others.
	if item.bad >= maxBad && !retry.Refused && !q.asked {
		q.bytes -= item.size
		q.stats.Failing++
		return []queued{*item}, failing
	}
	i, _ := slices.BinarySearchFunc(q.waiting, item.number, func(w queued, number uint64) int { return cmp.Compare(w.number, number) })
	q.waiting = slices.Insert(q.waiting, i, *item)
	return nil, ""
}

// conclude counts a profile that is done with, and returns why it was dropped if
// err is not nil. The caller holds q.mu.
func (q *Queue) conclude(item *queued, err error) dropReason {
	q.bytes -= item.size
	if _, ok := errors.AsType[*unreadableError](err); ok {
		q.stats.Unreadable++
		return unreadable
	}
	q.succeed() // the destination answers
	if err != nil {
		q.stats.Rejected++
		return rejected
	}
	q.stats.Exported++
	q.stats.LastSuccess = time.Now()
	if item.doubtful {
		q.stats.Duplicates++
	}
	return ""
}

// succeed ends an outage; the caller holds q.mu.
func (q *Queue) succeed() {
	q.failure, q.notBefore, q.asked, q.failures, q.blamed = nil, time.Time{}, false, 0, false
	q.answers++
	q.backoff.Reset()
}

// hasten makes the next attempt due, unless the destination wants it later. The
// caller holds q.mu.
func (q *Queue) hasten() {
	if !q.asked {
		q.notBefore = time.Time{}
	}
}

// settle ends the flushes that have nothing to wait for any more; the caller
// holds q.mu.
func (q *Queue) settle() {
	oldest := q.last + 1
	if len(q.waiting) > 0 {
		oldest = q.waiting[0].number
	}
	if q.sending != nil {
		oldest = min(oldest, q.sending.number)
	}
	if q.ending != 0 {
		oldest = min(oldest, q.ending)
	}
	q.flushes = slices.DeleteFunc(q.flushes, func(f queueFlush) bool {
		if f.after < oldest {
			close(f.done)
			return true
		}
		return false
	})
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
