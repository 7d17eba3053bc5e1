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
		// 1050 us, and waking, in 0.9 % of the time.
		{0.01, 1000, 1000, (waking + 1050*time.Microsecond) * 1000 / 9},
		{0.02, 1000, 1000, (waking + 1050*time.Microsecond) * 1000 / 18},
		{0.01, 1000, 10_000, (waking + 10050*time.Microsecond) * 1000 / 9},
		{0.1, 10, 10, minInterval},
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
	p := evenly(0.01/pace, 1000, now) // 1 % for rounds
	// So many that a round takes a millisecond, and two, and half of one.
	one := 1000 - int(waking/1000) - overhead
	two, half := one+1000, one-500
	const interval = 100 * time.Millisecond
	for _, test := range []struct {
		name  string
		after time.Duration
		n     int
		want  time.Duration
	}{
		{"at first", 0, one, interval},
		{"halfway", interval / 2, one, interval / 2},
		{"due", interval, one, 0},
		{"late", 2 * interval, one, -interval},
		{"many came", interval, two, interval},
		{"many are gone", interval / 2, half, 0},
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
		{"at first", 0, 0, 9_700, true},
		{"too many at first", 0, 0, 10_100, false},
		{"those a second later", 0, time.Second, 10_100, true},
		{"in debt", 15 * time.Millisecond, 0, 0, false},
		{"out of debt", 15 * time.Millisecond, time.Second, 4_700, true},
		{"what half a minute saves", 0, time.Minute, 299_700, true},
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
	for _, test := range []struct {
		name       string
		cost       time.Duration
		mean, high float64
	}{
		{"a dear round", 5 * time.Millisecond, 2000, 5000},
		{"a cheap one", time.Millisecond, 1750, 4875},
		{"one for nothing", 0, 1312.5, 4722.65625},
		{"one as foreseen", 1312500, 1312.5, 4616.0888671875},
	} {
		p.learn(n, test.cost)
		if p.mean != test.mean || p.high != test.high {
			t.Errorf("after %s: %v ns each on average and %v at most, want %v and %v", test.name, p.mean, p.high, test.mean, test.high)
		}
	}
	for range 1000 {
		p.learn(n, time.Millisecond)
	}
	if p.mean < 1000 || p.mean > 1001 || p.high < 1000 || p.high > 1001 {
		t.Errorf("after many rounds: %v and %v ns each, want 1000", p.mean, p.high)
	}
}
