// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Shutdown sends what waits until ctx ends, for 30 s if ctx has no deadline, and
// shuts the destination down. Where the next attempt is due only after the
// deadline, it does not wait for that. It gives the error handler half a second
// for the last reports, and no more: the handler may be the caller. The error
// says how many profiles stayed, whether they are in the spill directory or lost,
// and how many were dropped meanwhile. Shutdown returns when ctx ends even if the
// destination ignores its own.
//
// Calls after the first do nothing but wait for it, and return nil, or ctx's error
// if that comes first.
func (q *Queue) Shutdown(ctx context.Context) error {
	q.mu.Lock()
	if q.closing != nil {
		q.mu.Unlock()
		select {
		case <-q.done:
		case <-q.shut:
		case <-ctx.Done():
			return fmt.Errorf("%s: shut down: %w", q.name, ctx.Err())
		}
		return nil
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, maxShutdown)
		defer cancel()
	}
	q.closing, q.before = ctx, q.stats
	q.hasten()
	q.mu.Unlock()
	defer close(q.shut)
	defer q.metrics.unregister(ctx)

	q.notify()
	select {
	case <-q.done:
		q.reporter.Wait(ctx)
		return q.err
	case <-ctx.Done():
	}
	err := q.abandon(ctx.Err())
	select {
	case <-q.done: // both at once
		return q.err
	default:
	}
	if err == nil {
		err = fmt.Errorf("%s: shut down: %w", q.name, ctx.Err())
	}
	return err
}

// abandon gives up what waits and is being sent, and returns an error that says
// how much that is, nil if it is nothing. Later calls return the same.
func (q *Queue) abandon(cause error) error {
	q.mu.Lock()
	if q.abandoned {
		defer q.mu.Unlock()
		return q.left
	}
	q.abandoned = true
	if q.sending != nil {
		q.waiting = append(q.waiting, *q.sending)
	}
	var kept, lost int
	for _, item := range q.waiting {
		if item.file != "" {
			kept++
		} else {
			lost++
		}
	}
	if q.sending == nil && q.ending == 0 {
		q.unlock() // the worker has nothing to do with the files any more
	}
	q.waiting, q.sending, q.bytes = nil, nil, 0
	q.stats.Kept += uint64(kept)
	q.stats.Unsent += uint64(lost)
	cause = q.because(cause)
	if lost > 0 {
		q.left = fmt.Errorf("%s: %d profile(s) not exported: %w", q.name, lost, cause)
	}
	if kept > 0 {
		q.left = errors.Join(q.left, fmt.Errorf("%s: %d profile(s) kept in %s for the next start: %w", q.name, kept, q.config.dir, cause))
	}
	q.left = errors.Join(q.left, q.droppedSince(q.before))
	left := q.left
	q.mu.Unlock()

	// Not before the count: ForceFlush and the worker would otherwise see
	// an end that Stats does not show yet.
	q.cancel()
	q.metrics.drop(lost, unsent)
	return left
}

// droppedSince returns an error that says how many profiles were dropped since
// before, but for those that q.left tells of; nil if none was. The caller holds
// q.mu.
func (q *Queue) droppedSince(before QueueStats) error {
	var reasons []string
	var sum uint64
	for _, r := range []struct {
		reason dropReason
		n      uint64
	}{
		{expired, q.stats.Expired - before.Expired},
		{rejected, q.stats.Rejected - before.Rejected},
		{failing, q.stats.Failing - before.Failing},
		{unreadable, q.stats.Unreadable - before.Unreadable},
	} {
		if r.n > 0 {
			sum += r.n
			reasons = append(reasons, fmt.Sprintf("%d %s", r.n, r.reason))
		}
	}
	if sum == 0 {
		return nil
	}
	return fmt.Errorf("%s: %d profile(s) dropped during Shutdown: %s", q.name, sum, strings.Join(reasons, ", "))
}
