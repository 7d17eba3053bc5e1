// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/report"
)

// work encodes and sends what waits, until Shutdown.
func (l *lane) work() {
	defer close(l.done)
	defer l.unlock()
	// A goroutine inherits the labels of its creator. What a destination
	// does must not be counted as work of the span that happened to be
	// open when the lane began.
	goruntime.ClearLabels()
	for l.step() {
	}
	err := l.abandon(context.DeadlineExceeded)
	l.endFlushing()
	l.flushing.Wait()
	if l.sink.shutdown != nil {
		if failure := report.Contain(func() error { return l.sink.shutdown(l.closing) }); failure != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", l.name, failure))
		}
	}
	l.err = err
}

// step does the one thing that is due, or waits for the next. It returns false when
// Shutdown has nothing left to do, or no time for it.
func (l *lane) step() bool {
	l.mu.Lock()
	now := time.Now()
	if expired := l.expire(now); len(expired) > 0 {
		l.mu.Unlock()
		l.forget(expired)
		l.report(fmt.Errorf("%d profile(s) dropped: not delivered within %v", len(expired), l.config.age(expired[0])))
		return true
	}
	if l.retry != nil && len(l.given) > 0 && !l.abandoned {
		l.preparing = l.takeGiven()
		i := l.preparing
		l.mu.Unlock()
		if err := l.admit(i.profile, i); err != nil {
			l.report(err)
		}
		return true
	}
	if i := l.unspilled(now); i != nil {
		l.mu.Unlock()
		l.moveToFile(i)
		return true
	}
	i, pause := l.due(now)
	if i != nil {
		l.sending[i] = struct{}{}
		if i.attempts > 0 {
			l.status.Retries++
		}
		l.mu.Unlock()
		go func() { l.finish(i, l.attempt(i)) }()
		return true
	}
	busy := len(l.sending) > 0 || len(l.leaving) > 0
	over := l.closing != nil && !busy && (l.abandoned || pause < 0 || len(l.given) == 0 && l.waiting.len() == 0)
	if !busy && len(l.given) == 0 && l.waiting.len() == 0 {
		l.lagging = false
	}
	abandoned := l.abandoned
	l.mu.Unlock()
	if over {
		return false
	}
	if abandoned || pause < 0 {
		<-l.wake // what is being sent has been given up, but must end
		return true
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-l.wake:
	case <-timer.C:
	case <-l.ctx.Done():
	}
	return true
}

// due takes the next profile out if one is to be sent now. Otherwise it returns how
// long to wait, a negative time if Shutdown has none left. The caller holds l.mu.
func (l *lane) due(now time.Time) (*item, time.Duration) {
	switch {
	case l.abandoned, l.telling > 0: // lest another failure is reported before
		return nil, forever
	case l.retry == nil && len(l.given) > 0 && len(l.sending) == 0:
		return l.takeGiven(), 0
	case l.waiting.len() == 0:
		return nil, forever
	}
	next := l.waiting.first(l.retry.order())
	pause := l.retry.pause(now, next, l.sending, l.closing != nil || l.waiting.len() > fewWaiting)
	if pause <= 0 {
		l.waiting.remove(next)
		l.retry.begun = now
		return next, 0
	}
	if len(l.sending) == 0 {
		if !l.hurry(now) {
			return nil, -1
		}
		pause = l.retry.notBefore.Sub(now)
	}
	if respill, some := l.respillIn(now); some {
		pause = min(pause, respill)
	}
	return nil, max(0, min(pause, l.waiting.first(byExpiry).expires.Sub(now)))
}

// hurry has the next attempt begin in time for those that wait for it. It returns false
// if Shutdown has none left. The caller holds l.mu.
func (l *lane) hurry(now time.Time) bool {
	for _, f := range l.flushes {
		if deadline, bounded := f.ctx.Deadline(); bounded {
			l.retry.inTime(now, deadline)
		}
	}
	if l.closing == nil {
		return true
	}
	deadline, bounded := l.closing.Deadline()
	return !bounded || l.retry.inTime(now, deadline)
}

// expire takes profiles out that are too old, those in memory or those in files; the
// caller holds l.mu.
func (l *lane) expire(now time.Time) (expired []*item) {
	for {
		i := l.waiting.first(byExpiry)
		if i == nil || now.Before(i.expires) || len(expired) > 0 && i.spilled != expired[0].spilled {
			return expired
		}
		expired = append(expired, l.drop(i, &l.status.Expired))
		l.lost = cmp.Or(l.retry.failure, l.lost)
		if i == l.retry.tried {
			l.retry.hasten() // it was the reason for the pause
		}
	}
}

// drop takes a profile out and counts it as lost; forget does the rest. The caller
// holds l.mu.
func (l *lane) drop(i *item, count *uint64) *item {
	l.waiting.remove(i)
	l.leaving[i] = struct{}{}
	*count++
	return i
}

// forget ends items that are done with. Flushes go on only when their files are gone,
// lest they are sent twice by a program that flushes and exits.
func (l *lane) forget(items []*item) {
	l.observe()
	for _, i := range items {
		i.remove()
	}
	l.mu.Lock()
	for _, i := range items {
		delete(l.leaving, i)
	}
	l.settle()
	l.mu.Unlock()
	l.notify()
}

// attempt sends a profile once.
func (l *lane) attempt(i *item) error {
	if l.retry == nil {
		return l.send(l.ctx, i.profile)
	}
	p, err := i.load()
	if err != nil {
		return err
	}
	i.mark(true)
	ctx, cancel := context.WithTimeout(l.ctx, l.config.timeout)
	defer cancel()
	if err = l.send(ctx, p); err == nil {
		return nil
	}
	failure, ok := retried(err)
	if ok && failure.Refused {
		i.mark(i.doubtful)
	}
	if !ok && ctx.Err() != nil {
		return &RetryError{Err: fmt.Errorf("no answer within %v: %w", l.config.timeout, err)}
	}
	return err
}

// send calls the sink. It also unwraps the error, where a panic is contained: finish
// will, and an error that is a nil pointer panics then.
func (l *lane) send(ctx context.Context, p *Profile) error {
	return report.Contain(func() error {
		err := l.sink.send(ctx, p)
		_, _ = errors.AsType[*unreadableError](err) // which is never found: all are unwrapped
		return err
	})
}

// finish decides what becomes of a profile after an attempt.
func (l *lane) finish(i *item, err error) {
	l.mu.Lock()
	delete(l.sending, i)
	if l.abandoned {
		l.finishLate(i, err) // unlocks
		return
	}
	if err != nil {
		l.status.LastError, l.status.LastErrorTime = err, time.Now()
	}
	if failure, ok := retried(err); ok && l.retry != nil {
		first := l.retry.failure == nil
		if l.retry.postpone(i, failure, time.Now(), l.config.age(i)) {
			l.waiting.add(i)
			if first {
				l.telling++
			}
			l.mu.Unlock()
			l.observe()
			if first {
				l.tell(fmt.Errorf("will try again: %w", err))
			}
			l.notify()
			return
		}
		l.lost, l.status.Failing = err, l.status.Failing+1
		err = fmt.Errorf("it fails while others are taken: %w", err)
	} else {
		l.conclude(i, err)
	}
	l.leaving[i] = struct{}{}
	if err != nil {
		l.telling++
	}
	l.mu.Unlock()
	if err != nil && l.retry != nil {
		err = fmt.Errorf("%s profile dropped: %w", cmp.Or(i.kind, "spilled"), err)
	}
	if err != nil {
		l.tell(err)
	}
	l.forget([]*item{i})
}

// tell reports a failure that telling counts. No attempt begins before that; the caller
// notifies the worker.
func (l *lane) tell(err error) {
	l.report(err)
	l.mu.Lock()
	l.telling--
	l.mu.Unlock()
}

// conclude counts a profile that was taken or never will be; the caller holds l.mu.
func (l *lane) conclude(i *item, err error) {
	_, unreadable := errors.AsType[*unreadableError](err)
	if l.retry != nil && !unreadable {
		l.retry.succeed() // the destination answers
	}
	switch {
	case err == nil:
		l.status.Exported++
		l.status.LastSuccess = time.Now()
		if i.doubtful {
			l.status.Duplicates++
		}
		return
	case l.retry == nil:
		l.status.Failed++
	case unreadable:
		l.status.Unreadable++
	default:
		l.status.Rejected++
	}
	l.lost = err
}

// finishLate is finish after Shutdown has given up and counted the profile. If it was
// delivered all the same, the account says so, and its file is removed, so that the next
// Queue does not send it again. The caller holds l.mu, which is unlocked.
func (l *lane) finishLate(i *item, err error) {
	counted := &l.status.Unsent
	if i.spilled {
		counted = &l.status.Kept
	}
	switch {
	case err == nil:
		*counted--
		l.conclude(i, nil)
		l.leaving[i] = struct{}{}
	case i.spilled && i.file == "": // damaged, and set aside
		*counted--
		l.status.Unreadable++
	}
	l.mu.Unlock()
	if err == nil {
		l.forget([]*item{i})
	}
	l.notify()
}
