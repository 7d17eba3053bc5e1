// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cputime

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The times that are remembered are bounded: the oldest gaps go as profiles go.
func TestTimesAreBounded(t *testing.T) {
	const step = 10 * time.Second
	at := func(windows float64) int64 { return int64(windows * float64(step)) }
	times := New()
	for i := range 3 * MaxPeriods {
		times.Add(at(float64(2*i)), at(float64(2*i+1)))
	}
	if n := len(times.profiled); n != MaxPeriods {
		t.Error("periods:", n)
	}
	// The oldest gaps went as profiles go; the newest are known.
	if got := times.Held(at(1.2), at(1.4), false); got != Gone {
		t.Error("in the oldest gap:", got)
	}
	if got := times.Held(at(6*MaxPeriods-2.8), at(6*MaxPeriods-2.6), true); got != None {
		t.Error("in the newest gap:", got)
	}
	for i := range 3 * MaxPeriods {
		times.Evict(at(float64(2*i)), at(float64(2*i+1)))
	}
	if n := len(times.evicted); n > MaxPeriods {
		t.Error("evicted periods:", n)
	}
}

// TestPeriods holds periods against a list of milliseconds.
func TestPeriods(t *testing.T) {
	const length, ms = 4000, int64(time.Millisecond)
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var p periods
		covered := make([]bool, length)
		for range 1 + random.IntN(12) {
			start := random.Int64N(length)
			end := min(length, start+random.Int64N(400))
			p = p.add(start*ms, end*ms)
			for i := start; i < end; i++ {
				covered[i] = true
			}
		}
		for i := 1; i < len(p); i++ {
			if p[i].start-p[i-1].end <= maxRotation {
				t.Fatalf("%v: no gap before the %d. period", p, i)
			}
		}
		// What lies between two near periods is no gap.
		last := -1
		for i, is := range covered {
			if is && last >= 0 && int64(i-last-1)*ms <= maxRotation {
				for j := last; j < i; j++ {
					covered[j] = true
				}
			}
			if is {
				last = i
			}
		}
		start := random.Int64N(length)
		end := start + random.Int64N(length-start)
		var want int64
		for _, is := range covered[start:end] {
			if is {
				want += ms
			}
		}
		if got := p.overlap(start*ms, end*ms); got != want {
			t.Fatalf("%v overlaps [%d, %d) ms by %d, want %d", p, start, end, got, want)
		}
	}
	if p := (periods{}).add(1, 1).add(2, 1); len(p) != 0 {
		t.Error("periods of no time:", p)
	}
}
