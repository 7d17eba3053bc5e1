// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"testing"
	"time"
)

// evenly is a pacer without chance: intervals are what they are on average.
func evenly(budget, unit float64, now time.Time) *pacer {
	p := newPacer(budget, unit, now)
	p.random = func() float64 { return 0.5 }
	p.restart(now)
	return p
}

func TestInterval(t *testing.T) {
	for _, test := range []struct {
		budget, unit float64
		n            int
		want         time.Duration
	}{
		// 1050 us in 0.9 % of the time.
		{0.01, 1000, 1000, 1050 * time.Microsecond * 1000 / 9},
		{0.02, 1000, 1000, 1050 * time.Microsecond * 1000 / 18},
		{0.01, 1000, 10_000, 10050 * time.Microsecond * 1000 / 9},
		{0.01, 10, 10, minInterval},
		{1, 1000, 100, minInterval},
		{0.000001, 1e6, 1e9, reserve},
	} {
		got := evenly(test.budget, test.unit, time.Now()).interval(test.n)
		if diff := got - test.want; diff < -1 || diff > 1 {
			t.Errorf("budget %v, %v ns for each of %d: a round every %v, want %v", test.budget, test.unit, test.n, got, test.want)
		}
	}
}

func TestWaitFollowsTheGoroutines(t *testing.T) {
	now := time.Now()
	p := evenly(0.009/pace, 1000, now) // 0.9 % for rounds
	const interval = 1000 * 1000 * 1000 * time.Nanosecond / 9
	n := 1000 - overhead
	for _, test := range []struct {
		name  string
		after time.Duration
		n     int
		want  time.Duration
	}{
		{"at first", 0, n, interval},
		{"halfway", interval / 2, n, interval / 2},
		{"due", interval, n, 0},
		{"late", 2 * interval, n, -interval},
		{"twice as many came", interval, 2000 - overhead, interval},
		{"half are gone", interval / 2, 500 - overhead, 0},
	} {
		got := p.wait(now.Add(test.after), test.n)
		if diff := got - test.want; diff < -time.Microsecond || diff > time.Microsecond {
			t.Errorf("%s: wait %v, want %v", test.name, got, test.want)
		}
	}
}

func TestJitter(t *testing.T) {
	now := time.Now()
	p := newPacer(0.01, 1000, now)
	var sum float64
	lo, hi := 2.0, 0.0
	for range 10_000 {
		p.restart(now)
		sum += p.factor
		lo, hi = min(lo, p.factor), max(hi, p.factor)
	}
	if mean := sum / 10_000; lo < 0.5 || hi >= 1.5 || lo > 0.6 || hi < 1.4 || mean < 0.95 || mean > 1.05 {
		t.Errorf("intervals are %v to %v of the mean and %v on average, want 0.5 to 1.5 and 1", lo, hi, mean)
	}
}

func TestAllow(t *testing.T) {
	start := time.Now()
	const second = float64(time.Second)
	for _, test := range []struct {
		name  string
		spent time.Duration // at start
		after time.Duration
		n     int
		want  bool
	}{
		// 1 us each; a second brings 10 ms, and that of one is there at first.
		{"at first", 0, 0, 9_900, true},
		{"too many at first", 0, 0, 10_100, false},
		{"those a second later", 0, time.Second, 10_100, true},
		{"in debt", 15 * time.Millisecond, 0, 0, false},
		{"out of debt", 15 * time.Millisecond, time.Second, 4_900, true},
		{"what half a minute saves", 0, time.Minute, 299_900, true},
		{"more than can be saved", 0, time.Hour, 300_100, false},
	} {
		p := evenly(0.01, 1000, start)
		p.spend(test.spent)
		if got := p.allow(start.Add(test.after), test.n); got != test.want {
			t.Errorf("%s: %v, want %v with %.3f s of credit", test.name, got, test.want, p.credit/second)
		}
	}
}

func TestLearn(t *testing.T) {
	p := evenly(0.01, 1000, time.Now())
	n := 1000 - overhead
	p.learn(n, 4*time.Millisecond)
	if p.unit != 4000 {
		t.Errorf("after a dear round: %v ns each, want 4000 at once", p.unit)
	}
	p.learn(n, 0)
	if p.unit != 3000 {
		t.Errorf("after a cheap round: %v ns each, want 3000, a quarter less", p.unit)
	}
	for range 100 {
		p.learn(n, time.Millisecond)
	}
	if p.unit < 1000 || p.unit > 1001 {
		t.Errorf("after many rounds: %v ns each, want 1000", p.unit)
	}
}
