// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"bytes"
	"context"
	"errors"
	"time"
)

// underway is a recording that is being read, beside run: that goes on to look at what
// recording costs, however long the reading takes.
type underway struct {
	abandon context.CancelCauseFunc // has the reading end soon; the cause is why
	ended   chan reading            // has room for what came of it
	since   time.Time               // when the recording began that is read
}

// reading is what came of reading a recording.
type reading struct {
	bytes int64
	cpu   time.Duration
	err   error // wraps context.Canceled where it was abandoned
}

// outcome is what run waits for, if a reading is under way.
func (u *underway) outcome() <-chan reading {
	if u == nil {
		return nil
	}
	return u.ended
}

// readBeside reads a recording, on a goroutine of its own.
func (r *Recorder) readBeside(recording *bytes.Buffer, cpu time.Duration, of taken) *underway {
	ctx, abandon := context.WithCancelCause(context.Background())
	u := &underway{abandon: abandon, ended: make(chan reading, 1), since: of.since}
	go func() {
		done := reading{bytes: int64(recording.Len())}
		done.cpu = cpu + onThread(func() { done.err = r.keep(ctx, recording, of) })
		u.ended <- done
	}()
	return u
}

// hasRead takes from the budget what a reading has cost, which a pause that has begun in the
// meantime pays, and begins a new recording if that one is still on and could not be read.
func (r *Recorder) hasRead(now time.Time, done reading) {
	r.underway.abandon(nil) // which frees the context
	since := r.underway.since
	r.underway = nil
	if errors.Is(done.err, context.Canceled) {
		done.err = nil
		if done.cpu > 0 {
			done.bytes = 0 // not all were read: they tell nothing of what a byte costs
		}
	}
	r.budget.read(done.bytes, done.cpu)
	if done.err != nil {
		r.failed(now, done.err, since)
	}
	r.pay(now)
}
