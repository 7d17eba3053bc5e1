// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace

import (
	rtrace "runtime/trace"
	"testing"
	"time"
)

// A recording that could not be taken was not read: it keeps no slow span that comes next from
// being read, and its own are counted by what went wrong.
func TestUntakenRecording(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*Recorder)
		want  counter
		anew  bool // recording has to begin anew
	}{
		{"the budget does not pay it", func(r *Recorder) { r.budget.left = 0 }, overBudget, false},
		{"it has grown beyond the budget", func(r *Recorder) {
			r.budget.left = r.budget.most()/2 + 1000*perByteRead
			flood(t, 1000)
		}, overBudget, false},
		{"it cannot be written", func(r *Recorder) { r.flight.recorder.Stop() }, unreadable, true},
		{"a foreign stop has ended it", func(*Recorder) { rtrace.Stop() }, notRecording, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := time.Now()
			r := recordByHand(t, now)
			r.pending.add(slowSpan{id: "0123456789abcdef", ended: now, duration: time.Second})
			test.spoil(r)
			now = now.Add(gather)
			r.read(now)
			if got := r.accounts.values[test.want].Load(); got != 1 || r.underway != nil {
				t.Fatalf("counter %q: %d, want 1; read: %t", counterTexts[test.want].text, got, r.underway != nil)
			}
			if test.anew {
				for !r.flight.stop() {
					<-time.After(stopEvery)
				}
				r.begin(now)
			} else if !r.records() {
				t.Fatalf("status %+v, want %q", r.Status(), Recording)
			}
			next := slowSpan{id: "fedcba9876543210", ended: now, duration: r.config.window - edge}
			if got := r.pending.add(next); got != countless {
				t.Errorf("the next slow span is counted: %q", counterTexts[got].text)
			}
			// Nor is it tried again and again.
			if due, ok := r.readNext(); !ok || !test.anew && due.Before(now.Add(lookEvery)) {
				t.Errorf("the next reading is %v later, %t", due.Sub(now), ok)
			}
		})
	}
}
