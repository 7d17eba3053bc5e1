// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"testing"
	"time"
)

// evenly returns a pacer without randomness, with unit as a measured cost. Its intervals
// are the average ones.
func evenly(budget, unit float64, now time.Time) *pacer {
	p := newPacer(budget, unit, now)
	p.random = func() float64 { return 0.5 }
	p.learned = true
	p.restart(now)
	return p
}

func TestInterval(t *testing.T) {
	for _, test := range []struct {
		budget, unit float64
		n            int
		want         time.Duration
	}{
		// 1050 us and waking take 0.9 % of the time.
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
	// n for a round of one millisecond, then of two, then of half a millisecond.
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
		// 1 us each. A second adds 10 ms; the budget of half a minute is there at first.
		{"at first", 0, 0, 299_700, true},
		{"too many at first", 0, 0, 300_100, false},
		{"those a second later", 0, time.Second, 300_100, true},
		{"in debt", 305 * time.Millisecond, 0, 0, false},
		{"out of debt", 305 * time.Millisecond, time.Second, 4_700, true},
		{"what half a minute saves", 300 * time.Millisecond, time.Minute, 299_700, true},
		{"less than that", 300 * time.Millisecond, 29 * time.Second, 299_700, false},
		{"what ten minutes save", 0, time.Hour, 5_390_000, true},
		{"more than can be saved", 0, time.Hour, 6_000_100, false},
	} {
		p := evenly(0.01, 1000, start)
		p.spend(test.spent)
		if got := p.allow(start.Add(test.after), test.n); got != test.want {
			t.Errorf("%s: %v, want %v with %.3f s of credit", test.name, got, test.want, p.credit/second)
		}
	}
}

// The first round measures an unknown cost, unless the budget can never cover it.
func TestFirstRound(t *testing.T) {
	start := time.Now()
	for _, test := range []struct {
		n             int
		allow, afford bool
	}{
		{100, true, true},
		{100_000, true, true},
		{5_000_000, true, true},
		{6_000_000, false, false},
	} {
		p := newPacer(0.01, 3000, start)
		if got := p.allow(start, test.n); got != test.allow || p.affordable(test.n) != test.afford {
			t.Errorf("%d goroutines: allowed %v and affordable %v, want %v", test.n, got, p.affordable(test.n), test.allow)
		}
		if got := p.wait(start, test.n); test.allow && got > 3*firstInterval/2 {
			t.Errorf("%d goroutines: the first round comes after %v", test.n, got)
		}
		// It is taken, and costs a third.
		p.spend(time.Duration(1000 * test.n))
		p.learn(test.n, time.Duration(1000*test.n))
		if p.mean > 1000 || p.high != p.mean {
			t.Errorf("%d goroutines: a round of 1000 ns for each is taken for one of %v to %v", test.n, p.mean, p.high)
		}
	}
	p := newPacer(0.01, 3000, start)
	p.spend(time.Millisecond)
	if p.allow(start, 100_000) || !p.allow(start.Add(time.Second), 100_000) {
		t.Error("a first round of unknown cost is taken with less than half a minute's budget, or not with that")
	}
}

func TestPostpone(t *testing.T) {
	now := time.Now()
	p := evenly(0.01, 1000, now)
	p.spend(400 * time.Millisecond) // a debt of 100 ms
	n := 100_000 - overhead - int(waking/1000)
	if p.allow(now, n) {
		t.Fatal("a round is paid for with a debt")
	}
	p.postpone(now, n)
	// The mean interval is 11.1 s, and the 200 ms that are missing come in 20.
	if got := p.wait(now, n); got < 11*time.Second || got > 12*time.Second {
		t.Errorf("the next attempt comes in %v, want a usual interval", got)
	}
	now = now.Add(19 * time.Second)
	p.allow(now, n)
	p.postpone(now, n)
	if got := p.wait(now, n); got < time.Second || got > time.Second+2*minInterval {
		t.Errorf("the next attempt comes in %v, want it when the budget allows it", got)
	}
	if now = now.Add(time.Second + 2*minInterval); !p.allow(now, n) {
		t.Error("it does not")
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
