// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spanprof/spanprof/store"
)

// TestStandardErrors plays looks at random intervals of d at spans whose length is
// known, and compares how far off the sums are with what is said of them.
func TestStandardErrors(t *testing.T) {
	const d, trials = 1e7, 20_000
	random := rand.New(rand.NewPCG(1, 2))
	interval := func() float64 { return d * (0.5 + random.Float64()) }
	// look sums the looks at a span of some length that begins at any time, and those
	// in which it was in a state: which fills half of each period, or all of them.
	look := func(length float64, state func(at float64) bool) (n int64, sum, inState float64) {
		at, previous := -random.Float64()*100*d, 0.0
		for at < length {
			previous = at
			at += interval()
			if at >= 0 && at < length {
				n++
				sum += at - previous
				if state(at) {
					inState += at - previous
				}
			}
		}
		return n, sum, inState
	}
	for _, test := range []struct {
		length     float64 // in intervals
		goroutines int64
		period     float64 // of the state, in intervals; its first half is in it
		spans      int     // that are one figure
		sumOff     float64 // rms of what it is off, in standard errors: at most
		stateOff   float64
	}{
		{40, 1, 0.1, 1, 1.02, 1.1},
		{40, 1, 20, 1, 1.02, 1.02},
		{4, 1, 0.1, 1, 1.02, 1.1},
		{40, 8, 0.1, 1, 1.02, 1.1},
		// Two looks do not tell well how many goroutines there were.
		{2.5, 3, 0.3, 1, 1.25, 1.1},
		{0.2, 1, 0.1, 500, 1.06, 1.06},
		{0.9, 1, 0.3, 200, 1.06, 1.06},
		{30, 1, 0.3, 20, 1.06, 1.06},
	} {
		t.Run(fmt.Sprint(test.length, test.goroutines, test.spans), func(t *testing.T) {
			var sumOff, stateOff float64
			rounds := trials / test.spans
			for range rounds {
				var n int64
				var sum, inState float64
				for range test.spans {
					phase := random.Float64() * test.period * d
					k, s, i := look(test.length*d, func(at float64) bool {
						return math.Mod(at+phase, test.period*d) < test.period*d/2
					})
					n, sum, inState = n+k*test.goroutines, sum+s*float64(test.goroutines), inState+i*float64(test.goroutines)
				}
				if n == 0 {
					t.Fatal("nothing was seen")
				}
				total := test.length * d * float64(test.goroutines) * float64(test.spans)
				span := &Span{DurationNs: int64(test.length * d)}
				l, _ := newLooks(int64(sum), n, nil, span, test.spans)
				sumOff += square((sum - total) / math.Sqrt(l.variance()))
				if test.period < test.length { // or how much is true depends on the phase
					stateOff += square((inState - total/2) / max(1, l.part(int64(sum/2), int64(sum))))
				}
			}
			// A test of the other direction: what is said is not far too much where
			// there is one span.
			got := math.Sqrt(sumOff / float64(rounds))
			if got > test.sumOff || test.spans == 1 && got < 0.8 {
				t.Errorf("sums are off by %.2f standard errors, want up to %.2f", got, test.sumOff)
			}
			if got := math.Sqrt(stateOff / float64(rounds)); test.period*4 < test.length && got > test.stateOff {
				t.Errorf("parts are off by %.2f standard errors, want up to %.2f", got, test.stateOff)
			}
		})
	}
}

// TestErrorsOfKnownLooks: the errors follow the times between looks, where the profile has
// them.
func TestErrorsOfKnownLooks(t *testing.T) {
	const ms = float64(time.Millisecond)
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var of store.Looks
	for i := range 300 {
		d := 10 * time.Millisecond
		if i == 100 {
			d = time.Second
		}
		of.Add(begin, begin.Add(d), 0, 0, 0)
		begin = begin.Add(d)
	}
	end := begin.Add(-5 * time.Millisecond) // far from the long interval
	inLong := begin.Add(-2500 * time.Millisecond)
	for name, test := range map[string]struct {
		total, n int64 // in ms
		span     *Span
		ids      int
		want     float64 // in ms²
	}{
		"a span":                    {500, 50, &Span{Start: end.Add(-500 * time.Millisecond), DurationNs: 5e8}, 1, (100 + 100) / 12.0},
		"of three goroutines":       {1500, 150, &Span{Start: end.Add(-500 * time.Millisecond), DurationNs: 5e8}, 1, 9 * (100 + 100) / 12.0},
		"that begins in a long one": {2400, 195, &Span{Start: inLong, DurationNs: end.Sub(inLong).Nanoseconds()}, 1, (1e6 + 100) / 12.0},
		"found once":                {5, 1, &Span{Start: end.Add(-2 * time.Millisecond), DurationNs: 2e6}, 1, of.Single() / ms / ms * 6.25},
		"many":                      {2500, 25, nil, 25, 25 * max(100*100, of.Mean()/ms/ms)},
		"one look in a window":      {20_000, 2, nil, 2, 2 * 1e8},
		"of a look before":          {5000, 0, nil, 1, 25e6},
	} {
		l, known := newLooks(test.total*1e6, test.n, &of, test.span, test.ids)
		if got := l.variance() / ms / ms; !known || math.Abs(got-test.want) > 1e-3*test.want {
			t.Errorf("%s: a variance of %v ms², want %v", name, got, test.want)
		}
	}
	if _, known := newLooks(0, 0, &of, nil, 0); known {
		t.Error("nothing has an error")
	}
}

func square(x float64) float64 { return x * x }
