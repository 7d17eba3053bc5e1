// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"errors"
	"io"
	"runtime"
	"time"
)

// meter counts bytes.
type meter struct{ n int64 }

func (m *meter) Write(p []byte) (int, error) {
	m.n += int64(len(p))
	return len(p), nil
}

var _ io.Writer = (*meter)(nil)

// measure finds out what the recording costs. It reports whether that is more than the budget
// has, how many bytes the recording has, and what time it is then: the runtime may take long.
func (r *Recorder) measure(now time.Time) (over bool, bytes int64, after time.Time) {
	r.look = now.Add(lookEvery)
	var size meter
	from := time.Now()
	_, err := r.flight.write(&size)
	now = now.Add(time.Since(from))
	if err != nil {
		r.count(writeFailures, 1)
		r.reporter.Report(err)
		return false, 0, now
	}
	over = r.budget.look(now, r.last, size.n, runtime.NumGoroutine())
	r.last = now
	return over, size.n, now
}

// lookAt has the recording pause where it costs too much, and returns what time it is then. A
// reading that is under way is abandoned in a pause: it takes from the same program.
func (r *Recorder) lookAt(now time.Time) (after time.Time) {
	over, bytes, now := r.measure(now)
	if !over && bytes <= r.config.maxBytes {
		r.set(Recording, nil, time.Time{})
		return now
	}
	pause := r.budget.pause(now)
	err := &BudgetError{BytesPerSecond: r.budget.bytesPerSecond, Share: r.budget.lastShare, Allowed: r.config.share, Pause: pause}
	if !over {
		err.MaxBytes = r.config.maxBytes
	}
	r.count(pauses, 1)
	if r.underway != nil {
		r.underway.abandon(err)
	}
	r.halt(now, err, pause)
	return now
}

// pay has a pause for the budget, and any one that the account is in debt in, last until the
// account is full: a reading that was under way when the pause began is to be paid, and what
// recording goes on to cost while another execution trace keeps it from being stopped.
func (r *Recorder) pay(now time.Time) {
	_, over := errors.AsType[*BudgetError](r.why)
	if over || r.why != nil && r.budget.left < 0 {
		r.prolong(now.Add(r.budget.untilFull(now)))
	}
}
