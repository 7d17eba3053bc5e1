// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spanprof/spanprof/exporter/internal/split"
	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/report"
)

// work encodes and sends what waits, until Shutdown.
func (q *Queue) work() {
	defer close(q.done)
	// A goroutine inherits the labels of its creator. The work of a destination
	// must not count for a span.
	goruntime.ClearLabels()
	for q.step() {
	}
	q.abandon(context.DeadlineExceeded)
	if err := report.Contain(func() error { return q.sink.shutdown(q.closing) }); err != nil {
		q.mu.Lock()
		q.err = errors.Join(q.err, fmt.Errorf("%s: %w", q.name, err))
		q.mu.Unlock()
	}
}

// step does the one thing that is due, or waits for the next. It returns false when
// Shutdown has no work left, or no time for it.
func (q *Queue) step() bool {
	q.mu.Lock()
	now := time.Now()
	if expired := q.expire(now); expired > 0 {
		q.mu.Unlock()
		q.observe()
		q.report(fmt.Errorf("%d profile(s) dropped: not delivered within %v", expired, q.config.MaxAge))
		return true
	}
	if q.abandoned {
		q.mu.Unlock()
		return false
	}
	if f := q.flushed(); f != nil {
		q.mu.Unlock()
		f.result <- q.flushSink(f.ctx)
		return true
	}
	if i := slices.IndexFunc(q.items, func(i *item) bool { return !i.packed }); i >= 0 && !q.sink.exporter {
		next := q.take(i)
		q.mu.Unlock()
		q.pack(next)
		return true
	}
	i, pause := q.due(now)
	if i >= 0 {
		next := q.take(i)
		if next.tried {
			q.status.Retries++
		}
		next.tried = true
		q.mu.Unlock()
		q.finish(next, q.attempt(next.profile))
		return true
	}
	over := q.closing != nil && (len(q.items) == 0 || !q.hasTime(now))
	q.mu.Unlock()
	if over {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-q.wake:
	case <-timer.C:
	case <-q.ctx.Done():
	}
	return true
}

// take moves an item to busy; the caller holds q.mu.
func (q *Queue) take(i int) *item {
	q.busy = q.items[i]
	q.items = slices.Delete(q.items, i, i+1)
	return q.busy
}

// put moves items from busy back to their place; the caller holds q.mu.
func (q *Queue) put(items ...*item) {
	at := slices.IndexFunc(q.items, func(i *item) bool { return i.number > items[0].number })
	if at < 0 {
		at = len(q.items)
	}
	q.items = slices.Insert(q.items, at, items...)
	q.busy = nil
}

// due returns the index of the item to send now, or -1 and how long to wait. Items
// that have failed less are first: one that always fails must not delay the others. The
// caller holds q.mu.
func (q *Queue) due(now time.Time) (best int, pause time.Duration) {
	best, pause = -1, forever
	for n, i := range q.items {
		if !i.expires.IsZero() {
			pause = min(pause, i.expires.Sub(now))
		}
		if wait := max(i.notBefore.Sub(now), q.notBefore.Sub(now)); wait > 0 {
			pause = min(pause, wait)
		} else if best < 0 || i.failures < q.items[best].failures {
			best = n
		}
	}
	return best, pause
}

// hasTime reports whether another attempt can begin before Shutdown's deadline; the
// caller holds q.mu.
func (q *Queue) hasTime(now time.Time) bool {
	deadline, bounded := q.closing.Deadline()
	return !bounded || deadline.Sub(now) > lastChance && (!q.asked || !q.notBefore.After(deadline))
}

// expire drops items that are too old; the caller holds q.mu.
func (q *Queue) expire(now time.Time) (n int) {
	q.items = slices.DeleteFunc(q.items, func(i *item) bool {
		if i.expires.IsZero() || now.Before(i.expires) {
			return false
		}
		n++
		q.lose("expired", 1, q.failing)
		return true
	})
	return n
}

// flush is a call of ForceFlush.
type flush struct {
	ctx    context.Context
	after  uint64 // the number of the last item to wait for
	result chan error
}

// flushed returns a flush for which no items wait any more; the caller holds q.mu.
func (q *Queue) flushed() *flush {
	for n, f := range q.flushes {
		if len(q.items) == 0 || q.items[0].number > f.after {
			q.flushes = slices.Delete(q.flushes, n, n+1)
			return f
		}
	}
	return nil
}

// flushSink calls ForceFlush of an Exporter.
func (q *Queue) flushSink(ctx context.Context) error {
	if q.sink.flush == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(q.ctx, cancel)()
	if err := report.Contain(func() error { return q.sink.flush(ctx) }); err != nil {
		return fmt.Errorf("%s: %w", q.name, err)
	}
	return nil
}

// pack replaces an item's profile by its pprof form, which is much smaller than the
// parsed form.
func (q *Queue) pack(i *item) {
	var packed *Profile
	err := report.Contain(func() (err error) { packed, err = i.profile.packed(); return err })
	dropped := false
	q.mu.Lock()
	switch {
	case q.abandoned:
	case err != nil:
		q.lose("invalid", 1, err)
	case int64(packed.Size()) > q.config.MaxBytes:
		err = fmt.Errorf("%d bytes are more than the queue holds: see MaxBytes", packed.Size())
		q.lose("full", 1, err)
	default:
		i.profile, i.size, i.packed = packed, int64(packed.Size()), true
		dropped = q.makeRoom(q.config.MaxBytes-i.size, math.MaxInt, true)
		q.put(i)
	}
	q.busy = nil
	q.mu.Unlock()
	q.concluded(dropped)
	if err != nil {
		q.report(fmt.Errorf("%s profile dropped: %w", i.profile.Kind(), err))
	}
}

// attempt sends a profile once.
func (q *Queue) attempt(p *Profile) error {
	ctx, cancel := context.WithCancel(q.ctx)
	defer cancel()
	if q.config.Timeout > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, q.config.Timeout)
		defer end()
	}
	err := report.Contain(func() error {
		err := q.sink.send(ctx, p)
		// Unwrap it here, where a panic is contained: a typed nil error panics.
		_, _ = retried(err)
		return err
	})
	if _, ok := retried(err); err != nil && !ok && !q.sink.exporter && ctx.Err() != nil {
		return &RetryError{Err: fmt.Errorf("no answer within %v: %w", q.config.Timeout, err)}
	}
	return err
}

func retried(err error) (*RetryError, bool) { return errors.AsType[*RetryError](err) }

// finish decides what happens to an item after an attempt.
func (q *Queue) finish(i *item, err error) {
	retry, ok := retried(err)
	ok = ok && !q.sink.exporter
	var halves []*item
	if ok && retry.TooLarge {
		halves, ok = i.halves(), false
	}
	var failure error
	defer func() {
		q.observe()
		if failure != nil {
			q.report(failure)
		}
	}()
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	q.busy = nil
	if q.abandoned {
		if err == nil { // it was counted as unsent, and has arrived after all
			q.arrivedLate()
		}
		return
	}
	if err != nil {
		q.status.LastError, q.status.LastErrorTime = err, now
	}
	switch {
	case err == nil:
		q.status.Exported++
		q.status.LastSuccess = now
		if i.doubtful {
			q.status.Duplicates++
		}
		q.succeed()
	case halves != nil:
		q.succeed() // it answers
		q.status.Taken++
		q.put(halves...)
	case ok && (retry.MaxAttempts == 0 || i.unclear+1 < retry.MaxAttempts):
		if retry.MaxAttempts > 0 {
			i.unclear++
		}
		if q.failing == nil {
			failure = fmt.Errorf("will try again: %w", err)
		}
		q.postpone(i, retry, now)
	case q.sink.exporter:
		q.lose("failed", 1, err)
		failure = err
	default:
		q.succeed()
		q.lose("rejected", 1, err)
		failure = fmt.Errorf("%s profile dropped: %w", i.profile.Kind(), err)
	}
}

// succeed ends the pauses between attempts; the caller holds q.mu.
func (q *Queue) succeed() {
	q.failures, q.notBefore, q.asked, q.failing = 0, time.Time{}, false, nil
}

// postpone plans the next attempt at an item; the caller holds q.mu.
func (q *Queue) postpone(i *item, err *RetryError, now time.Time) {
	i.doubtful = i.doubtful || !err.Refused
	i.failures = min(i.failures+1, manyFailures)
	q.failures = min(q.failures+1, manyFailures)
	q.failing = err
	i.notBefore = now.Add(q.pause(i.failures, now))
	q.notBefore, q.asked = now.Add(q.pause(q.failures, now)), false
	if err.After > 0 {
		q.notBefore, q.asked = now.Add(min(err.After, q.config.MaxAge)), true
		i.notBefore = q.notBefore
	}
	q.put(i)
}

// pause returns the pause after so many failed attempts. During Shutdown it is at most an
// eighth of the time that is left. The caller holds q.mu.
func (q *Queue) pause(failures int, now time.Time) time.Duration {
	pause := min(maxPause, firstPause<<(failures-1))
	if q.closing != nil {
		if deadline, bounded := q.closing.Deadline(); bounded {
			pause = min(pause, deadline.Sub(now)/8)
		}
	}
	return pause
}

// halves returns two items with half of the samples each, in their pprof forms. It returns
// none if there is only one sample, or after too many halvings. The second window begins
// earlier, because Pyroscope takes two profiles of one series and one start for the same.
func (i *item) halves() (halves []*item) {
	parsed, err := i.profile.Parsed()
	if err != nil || len(parsed.Sample) < 2 || i.halvings == maxHalvings {
		return nil
	}
	shift := time.Millisecond << (maxHalvings - 1 - i.halvings)
	for n, samples := range split.Halves(parsed) {
		part := split.WithSamples(parsed, samples)
		w := i.profile.window
		if n == 1 {
			part.TimeNanos = cmp.Or(part.TimeNanos, w.Start.UnixNano()) - int64(shift)
			w.Start, w.Duration = w.Start.Add(-shift), w.Duration+shift
		}
		p, err := NewParsedProfile(w, part).packed()
		if err != nil {
			return nil
		}
		half := *i
		half.profile, half.size, half.halvings, half.tried = p, int64(p.Size()), i.halvings+1, false
		halves = append(halves, &half)
	}
	return halves
}
