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

// TestStandardErrors plays looks at random intervals of d at spans of a known length. It compares
// the errors of the sums with their standard errors.
func TestStandardErrors(t *testing.T) {
	const d, trials = 1e7, 20_000
	random := rand.New(rand.NewPCG(1, 2))
	interval := func() float64 { return d * (0.5 + random.Float64()) }
	// look sums the looks at a span of some length that begins at any time. It also sums those
	// in a state which fills half of each period, or all of them.
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
				span := &store.Span{Duration: time.Duration(test.length * d)}
				found := &store.Samples{Total: int64(sum), Samples: n}
				sumOff += square((sum - total) / float64(wallError(int64(sum), found, span, test.spans)))
				if test.period < test.length { // or how much is true depends on the phase
					stateOff += square((inState - total/2) / max(1, float64(wallError(int64(sum/2), found, span, test.spans))))
				}
			}
			// A standard error is not far too large for one span.
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

func square(x float64) float64 { return x * x }
