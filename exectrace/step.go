// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"fmt"
	"time"
)

// step does what is due, and returns when something is due next.
func (r *Recorder) step(now time.Time) time.Time {
	if due, ok := r.pending.nextOlder(); ok && !now.Before(due) {
		r.tellOlder()
	}
	if !r.flight.on() {
		if !now.Before(r.resume) {
			r.begin(now)
		}
		return r.next()
	}
	if r.why == nil && r.flight.interrupted() {
		r.count(foreignStops, 1)
		r.halt(now, ErrForeignStop, 0)
		return r.next()
	}
	if r.why != nil { // another execution trace was on
		if !now.Before(r.look) {
			_, _, now = r.measure(now)
			r.pay(now)
		}
		if r.flight.stop() {
			r.setPause(r.Status().State)
		}
		return r.next()
	}
	if !now.Before(r.nextLook()) {
		now = r.lookAt(now)
		r.steps.doubtful(now) // so that each one is noticed
	}
	if due, ok := r.readNext(); ok && !now.Before(due) && r.records() {
		r.read(now)
	}
	return r.next()
}

// tellOlder gives the store of the spans that began before the window why they have no exact
// times.
func (r *Recorder) tellOlder() {
	reason := fmt.Sprintf("the span began before the recording, which is of about %v: WithWindow makes it longer", r.config.window)
	for _, s := range r.pending.takeOlder() {
		r.count(r.keepOlder(s, olderThanWindow, reason), 1)
	}
}

// next returns when something is due.
func (r *Recorder) next() time.Time {
	next := r.resume
	if r.flight.on() {
		next = r.nextLook()
		if due, ok := r.readNext(); ok && due.Before(next) {
			next = due
		}
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
	due, ok = r.pending.due()
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
