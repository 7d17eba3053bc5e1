// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"testing"
	"time"
)

// played is the result of an hour of a budget.
type played struct {
	recorded, readings, longPauses int
	overdrawn                      bool
}

// play spends a budget for an hour. A slow span waits at any time.
func play(b *budget, bytesPerSecond int64, goroutines int) (p played) {
	now := time.Unix(1e9, 0)
	end := now.Add(time.Hour)
	var nextRead time.Time
	for now.Before(end) {
		b.begin(now)
		for began := now; ; {
			step := b.nextLook(goroutines)
			now = now.Add(step)
			p.recorded += int(step / time.Second)
			held := min(now.Sub(began), b.window+time.Second)
			b.look(now, bytesPerSecond*int64(held/time.Second), goroutines)
			lasts := b.lasts(nextRead.Sub(now))
			if (!lasts || !now.Before(nextRead)) && b.pay(now, b.readCost(), 0) {
				p.readings++
				b.useful, nextRead = true, now.Add(readApart)
				lasts = b.lasts(readApart)
			}
			p.overdrawn = p.overdrawn || b.left < 0
			if !lasts || !now.Before(end) {
				break
			}
		}
		pause := b.pause(now)
		if pause == longPause {
			p.longPauses++
		}
		now = now.Add(pause)
	}
	return p
}

func TestBudget(t *testing.T) {
	for _, test := range []struct {
		name                        string
		bytesPerSecond              int64
		goroutines                  int
		leastRecorded, mostRecorded int // seconds
		leastReadings               int
		longPauses                  int
	}{
		{"a quiet service", 50_000, 500, 3600, 3601, 350, 0},
		{"idle goroutines", 200_000, 15_000, 1000, 2500, 100, 0},
		{"a busy service", 600_000, 200, 500, 1500, 50, 0},
		{"1.1e6 channel operations a second", 10_000_000, 100, 1, 1, 0, 1},
		{"100,000 goroutines", 1_000_000, 100_000, 5, 5, 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := play(newBudget(0.01, defaultWindow), test.bytesPerSecond, test.goroutines)
			if got.recorded < test.leastRecorded || got.recorded > test.mostRecorded || got.readings < test.leastReadings || got.longPauses != test.longPauses {
				t.Errorf("got %+v, want %+v", got, test)
			}
			if got.overdrawn && got.longPauses == 0 {
				t.Error("the account was overdrawn")
			}
		})
	}
}

// A reading is reserved for slow spans: other payments leave it.
func TestBudgetReserve(t *testing.T) {
	b, now := newBudget(0.01, defaultWindow), time.Unix(1e9, 0)
	b.begin(now)
	b.look(now.Add(time.Second), 10_000_000, 1) // 200 ms, and 450 ms to read
	if b.lasts(0) {
		t.Error("a reading of 450 ms can be paid from 410 ms")
	}
	if b.pay(now.Add(time.Second), 100*time.Millisecond, b.readCost()) {
		t.Error("a payment took the reserve")
	}
	if !b.pay(now.Add(time.Second), 100*time.Millisecond, 0) {
		t.Error("a payment without reserve was refused")
	}
}

// The growth of a full recording is at least a fair share of its bytes.
func TestBudgetOfAFullRecording(t *testing.T) {
	b, now := newBudget(0.01, defaultWindow), time.Unix(1e9, 0)
	b.begin(now)
	b.looked = now.Add(time.Hour)
	b.bytes = 1_300_000
	b.look(now.Add(time.Hour+time.Second), 1_300_000, 1)
	if b.bytesPerSecond != 100_000 {
		t.Errorf("got %v bytes a second, want 100000", b.bytesPerSecond)
	}
}

// A burst is paid, and does not predict another.
func TestBudgetOfABurst(t *testing.T) {
	b, now := newBudget(0.01, defaultWindow), time.Unix(1e9, 0)
	b.begin(now)
	b.look(now.Add(8*time.Second), 0, 1)
	before := b.left
	b.look(now.Add(10*time.Second), 2_000_000, 1)
	if paid := before - b.left; paid < 15*time.Millisecond {
		t.Errorf("paid %v for 2 MB, of 20 ms less the income", paid)
	}
	if b.bytesPerSecond != 200_000 || !b.lasts(readApart) {
		t.Errorf("got %v bytes a second, want 200000, and that it lasts", b.bytesPerSecond)
	}
}

func TestPauseUntilFull(t *testing.T) {
	b, now := newBudget(0.01, defaultWindow), time.Unix(1e9, 0)
	b.begin(now)
	b.left, b.useful = 300*time.Millisecond, true
	if got := b.pause(now.Add(time.Second)); got != 30*time.Second {
		t.Errorf("got a pause of %v, want 30s", got)
	}
}
