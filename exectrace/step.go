// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"fmt"
	"time"
)

// step does what is due, and returns when something is due next.
func (r *Recorder) step(now time.Time) time.Time {
	if !r.flight.on() {
		if now.Before(r.resume) {
			return r.resume
		}
		r.begin(now)
		return r.next()
	}
	if r.why == nil && r.flight.interrupted() {
		r.count(foreignStops, 1)
		r.halt(now, ErrForeignStop, 0)
	}
	if r.why != nil { // another execution trace was on
		if !now.Before(r.look) {
			r.lookWhileHalted(now)
		}
		r.halt(now, r.why, 0)
		return r.next()
	}
	if !now.Before(r.nextLook()) {
		r.lookAt(now)
		r.steps.doubtful(now) // so that each one is noticed
		if r.last.After(now) {
			now = r.last // the runtime may have taken long
		}
	}
	if due, ok := r.pending.nextOlder(); ok && !now.Before(due) {
		for _, s := range r.pending.takeOlder() {
			r.count(r.keepOlder(s, olderThanWindow, fmt.Sprintf("the span began before the recording, which is of about %v: WithWindow makes it longer", r.config.window)), 1)
		}
	}
	if due, ok := r.readNext(); ok && !now.Before(due) && r.flight.on() && r.why == nil {
		r.read(now)
	}
	return r.next()
}

// next returns when something is due.
func (r *Recorder) next() time.Time {
	if !r.flight.on() {
		return r.resume
	}
	next := r.nextLook()
	if due, ok := r.readNext(); ok && due.Before(next) {
		next = due
	}
	if due, ok := r.pending.nextOlder(); ok && due.Before(next) {
		next = due
	}
	return next
}

// readNext returns when a recording is to be read, if one is: not while another one is read.
func (r *Recorder) readNext() (due time.Time, ok bool) {
	if r.underway != nil {
		return time.Time{}, false
	}
	due, ok = r.pending.next()
	if due.Before(r.readAfter) {
		due = r.readAfter
	}
	return due, ok
}

// nextLook returns when the recording is to be looked at next.
func (r *Recorder) nextLook() time.Time {
	look := r.look
	if due, ok := r.readNext(); ok && r.why == nil {
		before, last := due.Add(-lookBefore), r.look.Add(-lookEvery)
		if last.Before(before) && before.Before(look) {
			look = before
		}
	}
	return look
}
