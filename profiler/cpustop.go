// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"errors"
	"time"

	"github.com/spanprof/spanprof/exporter"
)

func (c *cpu) stop() (*exporter.Profile, error) {
	var before *exporter.Profile // of a run that had been closed, and was being replaced
	var err error
	if c.pending != nil {
		// It has been waited for. There is more to wait for where a run of ours
		// is about to end.
		var limit time.Duration
		if c.open != nil {
			limit = c.patience
		}
		select {
		case w := <-c.pending:
			before, err = c.adopt(w)
		case <-time.After(limit):
		}
	}
	closed := c.open
	if c.pending == nil && closed != nil && closed.running() {
		c.try(func() *cpuWindow { halt(closed); return nil })
	}
	if c.pending != nil {
		c.abandon()
	} else if closed != nil {
		closed.await(c.patience)
	}
	err = errors.Join(err, c.notice(closed))
	c.mu.Lock()
	c.open, c.state = nil, cpuStopped
	c.mu.Unlock()
	c.retry = time.Time{}
	switch {
	case closed == nil:
		return before, err
	case closed.log == nil && !closed.complete():
		return before, errors.Join(err, errNotClosed)
	}
	piece, missing := closed.export(c.resource)
	if before != nil {
		sum, unlike := merge([]*exporter.Profile{before, piece})
		if unlike != nil {
			return before, errors.Join(err, missing, unlike)
		}
		piece = sum
	}
	return piece, errors.Join(err, missing)
}

// abandon leaves a call of runtime/pprof that does not return to itself. When it does
// nothing of ours is left running.
func (c *cpu) abandon() {
	pending := c.pending
	c.pending = nil
	go func() { halt(<-pending) }()
}

// halt ends w, which may be nil, if it is still on, and leaves no run of ours: next
// says how.
func halt(w *cpuWindow) {
	for w != nil && w.running() {
		probe, err := openCPUWindow(nil, nil)
		if err != nil {
			if w.running() {
				w.stop()
			}
			return
		}
		w = probe
	}
}
