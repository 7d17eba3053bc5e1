// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"testing"
	"time"
)

// play looks at a recording of so many bytes a second once a second, and returns after how
// many seconds of recording the budget was spent, and the pause after it.
func play(b *budget, now *time.Time, bytesPerSecond int64, goroutines, most int) (seconds int, pause time.Duration) {
	b.begin(*now)
	for seconds = 1; seconds <= most; seconds++ {
		last := *now
		*now = now.Add(time.Second)
		held := bytesPerSecond * int64(min(seconds, int((b.window+time.Second)/time.Second)))
		if b.look(*now, last, held, goroutines) {
			return seconds, b.pause(*now)
		}
	}
	return seconds, 0
}

func TestBudget(t *testing.T) {
	for _, test := range []struct {
		name           string
		bytesPerSecond int64
		goroutines     int
		least, most    int // seconds of recording; 0 for more than an hour
	}{
		{"a quiet service", 370_000, 1000, 0, 0},
		{"twice the budget", 1_000_000, 100, 40, 80},
		{"1.1e6 channel operations a second", 50_000_000, 100, 1, 1},
		{"100,000 goroutines", 100_000, 100_000, 4, 6},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, now := newBudget(0.01, 5*time.Second), time.Unix(1e9, 0)
			seconds, pause := play(b, &now, test.bytesPerSecond, test.goroutines, 3600)
			if test.most == 0 {
				if pause != 0 {
					t.Errorf("a pause after %d s", seconds)
				}
				return
			}
			if seconds < test.least || seconds > test.most || pause < leastPause {
				t.Errorf("recorded for %d s, want %d to %d, then a pause of %v", seconds, test.least, test.most, pause)
			}
		})
	}
}

// A burst is seen at the next look, though the window has mostly what came before.
func TestBudgetOfABurst(t *testing.T) {
	b, now := newBudget(0.01, 5*time.Second), time.Unix(1e9, 0)
	if _, pause := play(b, &now, 100_000, 100, 60); pause != 0 {
		t.Fatal("a pause before the burst")
	}
	if !b.look(now.Add(time.Second), now, 600_000+45_000_000, 100) {
		t.Errorf("45 MB in a second leave %v of the budget", b.left)
	}
}

// The mean over pauses is the budget, and recording that is of no use happens less and less.
func TestPauses(t *testing.T) {
	b, now := newBudget(0.01, 5*time.Second), time.Unix(1e9, 0)
	from, recorded := now, 0
	for range 20 {
		seconds, pause := play(b, &now, 1_000_000, 100, 3600)
		recorded += seconds
		now = now.Add(pause)
	}
	if share := float64(recorded) / now.Sub(from).Seconds(); share < 0.4 || share > 0.6 || b.hopeless() {
		t.Errorf("twice the budget was recorded for %.0f %% of the time, hopeless %t", 100*share, b.hopeless())
	}
	last := time.Duration(0)
	for i := range 20 {
		_, pause := play(b, &now, 50_000_000, 100, 3600)
		if pause < last || pause > mostPause {
			t.Errorf("pause %d is of %v, after one of %v", i, pause, last)
		}
		last = pause
		now = now.Add(pause)
	}
	if last != mostPause || !b.hopeless() {
		t.Errorf("the last pause is of %v, hopeless %t", last, b.hopeless())
	}
	play(b, &now, 1_000_000, 100, 3600)
	if b.hopeless() {
		t.Error("it is hopeless after a minute of recording")
	}
}

// Reading leaves half of the budget to recording.
func TestBudgetOfReading(t *testing.T) {
	b, now := newBudget(0.01, 5*time.Second), time.Unix(1e9, 0)
	n := 0
	for ; b.canRead(now, 2_000_000); n++ {
		b.read(2_000_000, 0)
		if n > 100 {
			t.Fatal("there is no end of it")
		}
	}
	if n == 0 || b.left < b.most()/2 {
		t.Errorf("%d recordings were read, and %v of %v is left", n, b.left, b.most())
	}
	if !b.canRead(now.Add(time.Minute), 2_000_000) {
		t.Error("none can be read a minute later")
	}
}

// Where reading takes more than its bytes usually cost, as with many goroutines, the account
// pays that, and the next has to fit in.
func TestBudgetOfDearReadings(t *testing.T) {
	b, now := newBudget(0.01, 5*time.Second), time.Unix(1e9, 0)
	if !b.canRead(now, 100_000) {
		t.Fatal("a small recording is not read")
	}
	before := b.left
	b.read(100_000, 250*time.Millisecond)
	if took := before - b.left; took != 250*time.Millisecond {
		t.Errorf("the account has paid %v, want 250ms", took)
	}
	if b.canRead(now, 100_000) {
		t.Error("another such recording may be read at once: it would take from recording")
	}
	dear := b.readByte
	for range 60 {
		b.cannotRead()
	}
	if got := b.readByte; got < perByteRead || got > dear/3 {
		t.Errorf("after a minute of refusals a byte takes %v, before %v", got, dear)
	}
	b.read(100_000, 0)
	if b.readByte != perByteRead {
		t.Errorf("after a cheap one a byte takes %v, want %v", b.readByte, perByteRead)
	}
}
