// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"testing"
	"time"
)

// A long window of a busy service can be read: its recordings cost more than half a minute of
// the budget.
func TestBudgetOfALongWindow(t *testing.T) {
	const bytesPerSecond = 400_000
	b, now := newBudget(0.01, time.Minute), time.Unix(1e9, 0)
	b.begin(now)
	reads := 0
	for second := 1; second <= 3600; second++ {
		last := now
		now = now.Add(time.Second)
		if b.look(now, last, bytesPerSecond*int64(min(second, 61)), 100) {
			t.Fatalf("second %d: a pause", second)
		}
		if second > 61 && b.canRead(now, b.bytes) {
			b.read(b.bytes, 0)
			reads++
		}
	}
	if reads < 3 || reads > 10 {
		t.Errorf("%d recordings are read in an hour, want 3 to 10", reads)
	}
}

// A recording that has grown since the last look is read as far as there is something to pay
// with.
func TestBudgetOfAGrownRecording(t *testing.T) {
	b, now := newBudget(0.01, 5*time.Second), time.Unix(1e9, 0)
	bytes := b.affords()
	if !b.canRead(now, bytes) || b.canRead(now, bytes+1000) {
		t.Errorf("%d bytes are affordable, which can be read: %t", bytes, b.canRead(now, bytes))
	}
	b.read(2*bytes, 0)
	if got := b.affords(); got != 0 {
		t.Errorf("%d bytes are affordable beyond all", got)
	}
}

// A pause has bounds for each share that WithBudget takes.
func TestPauseOfASmallShare(t *testing.T) {
	b, now := newBudget(1e-9, 5*time.Second), time.Unix(1e9, 0)
	for i := range 10 {
		if b.begin(now); !b.look(now.Add(time.Second), now, 50_000_000, 100_000) {
			t.Fatal("the budget is not spent")
		}
		if got := b.pause(now.Add(time.Second)); got < leastPause || got > mostPause {
			t.Errorf("pause %d: %v, want %v to %v", i, got, leastPause, mostPause)
		}
		now = now.Add(time.Second)
	}
}
