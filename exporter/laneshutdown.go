// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/report"
)

const (
	// maxShutdown is how long Shutdown of a Queue takes without a deadline. It is
	// what Kubernetes gives a process to end.
	maxShutdown = 30 * time.Second
	// lastWord is the end of Shutdown's time that an Exporter does not get to
	// deliver, but to say what it could not: at most a tenth of what there is.
	lastWord = 100 * time.Millisecond
)

// shutdown sends what waits until ctx ends and shuts the sink down. The error says how
// many profiles stayed.
func (l *lane) shutdown(ctx context.Context) error {
	l.start()
	closing, cancel := l.closingContext(ctx)
	defer cancel()
	l.mu.Lock()
	if l.closing != nil {
		l.mu.Unlock()
		select {
		case <-l.done:
		case <-l.shut:
		case <-ctx.Done():
			select {
			case <-l.shut: // both at once
			default:
				return fmt.Errorf("%s: shut down: %w", l.name, ctx.Err())
			}
		}
		return nil
	}
	l.closing = closing
	l.respill = time.Time{} // what waits in memory is written once more
	l.retry.refresh()
	l.mu.Unlock()
	defer close(l.shut)
	defer l.reporter.Flush()
	defer func() { l.metrics.unregister(ctx) }()

	l.notify()
	select {
	case <-l.done:
		l.reporter.Wait(ctx)
		return l.err
	case <-closing.Done():
	}
	err := l.abandon(closing.Err())
	if l.retry == nil {
		select {
		case <-l.done:
		case <-ctx.Done():
		}
	}
	select {
	case <-l.done: // perhaps both at once
		return l.err
	default:
	}
	if err == nil {
		err = fmt.Errorf("%s: shut down: %w", l.name, closing.Err())
	}
	return err
}

// closingContext returns the context in which what waits is delivered and the sink
// is shut down.
func (l *lane) closingContext(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, bounded := ctx.Deadline()
	switch {
	case l.retry == nil && bounded:
		return context.WithDeadline(ctx, deadline.Add(-max(0, min(lastWord, time.Until(deadline)/10))))
	case l.retry == nil || bounded:
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, maxShutdown)
}

// abandon gives up what waits and is being sent, and returns an error that says
// how much that is, nil if it is nothing. Later calls return the same.
func (l *lane) abandon(cause error) error {
	l.mu.Lock()
	if l.abandoned {
		defer l.mu.Unlock()
		return l.left
	}
	lost, kept := len(l.given), 0
	if l.preparing != nil {
		lost++
	}
	count := func(i *item) {
		if i.spilled {
			kept++
		} else {
			lost++
		}
	}
	for _, i := range l.waiting.orders[byNumber].items {
		count(i)
	}
	for i := range l.sending {
		count(i)
	}
	if len(l.sending) == 0 && len(l.leaving) == 0 && l.preparing == nil {
		l.unlock() // the worker has nothing to do with the files any more
	}
	l.abandoned = true
	l.flushes = nil // l.ctx ends them
	l.given, l.bytes, l.preparing, l.waiting = nil, 0, nil, newBacklog(l.config.age)
	l.status.Kept += uint64(kept)
	l.status.Unsent += uint64(lost)
	cause = l.because(cause)
	if lost > 0 {
		l.left = fmt.Errorf("%s: %d profile(s) not exported: %w", l.name, lost, cause)
	}
	if kept > 0 {
		l.left = errors.Join(l.left, fmt.Errorf("%s: %d profile(s) kept in %s for the next start: %w", l.name, kept, l.config.dir, cause))
	}
	left := l.left
	l.mu.Unlock()

	// Not before the count: ForceFlush and the worker would otherwise see
	// an end that Status does not show yet.
	l.cancel()
	l.observe()
	l.notify()
	return left
}

// keepLate corrects the account of a profile in n parts, which was being prepared when
// Shutdown gave up, and was counted as unsent: those of items that are in files are kept.
// The caller holds l.mu.
func (l *lane) keepLate(n int, items ...*item) {
	l.status.Taken += uint64(n - 1)
	l.status.Unsent += uint64(n - 1)
	for _, i := range items {
		if i.spilled {
			l.status.Unsent--
			l.status.Kept++
		}
	}
}

// flushSink calls the sink's flush, and does not wait longer than ctx lasts. The
// caller holds l.mu, which is unlocked.
func (l *lane) flushSink(ctx context.Context) error {
	if l.sink.flush == nil {
		l.mu.Unlock()
		return nil
	}
	if l.flushCtx.Err() != nil || l.abandoned {
		l.mu.Unlock()
		return ErrShutdown
	}
	inner, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(l.flushCtx, cancel)
	result := make(chan error, 1)
	l.flushing.Go(func() {
		goruntime.ClearLabels()
		defer cancel()
		defer stop()
		result <- report.Contain(func() error { return l.sink.flush(inner) })
	})
	l.mu.Unlock()

	select {
	case err := <-result:
		switch {
		case err != nil && l.flushCtx.Err() != nil:
			return ErrShutdown
		case err != nil:
			return fmt.Errorf("%s: %w", l.name, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", l.name, ctx.Err())
	case <-l.ctx.Done():
		return ErrShutdown
	}
}
