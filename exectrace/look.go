// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
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
// has, and how many bytes the recording has.
func (r *Recorder) measure(now time.Time) (over bool, bytes int64) {
	r.look = now.Add(lookEvery)
	var size meter
	from := time.Now()
	if _, err := r.flight.write(&size); err != nil {
		r.count(writeFailures, 1)
		r.reporter.Report(err)
		return false, 0
	}
	now = now.Add(time.Since(from)) // until then it has grown: the runtime may have taken long
	over = r.budget.look(now, r.last, size.n, runtime.NumGoroutine())
	r.last = now
	return over, size.n
}

// lookAt has the recording pause where it costs too much. A reading that is under way is
// abandoned then: it takes from the same program.
func (r *Recorder) lookAt(now time.Time) {
	over, bytes := r.measure(now)
	if !over && bytes <= r.config.maxBytes {
		r.set(Recording, nil, time.Time{})
		return
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
}

// lookWhileHalted has the pause last until what the recording goes on to cost is paid, too,
// while another execution trace keeps it from being stopped.
func (r *Recorder) lookWhileHalted(now time.Time) {
	if over, _ := r.measure(now); !over {
		return
	}
	if full := now.Add(r.budget.untilFull()); full.After(r.resume) {
		r.resume = full
	}
	status := r.Status()
	r.set(status.State, status.Err, r.resume)
}
