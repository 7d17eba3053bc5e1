// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package looks_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/internal/looks"
)

// TestTheErrorOfIrregularLooks compares the variance with the errors of many spans.
func TestTheErrorOfIrregularLooks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, interval := range map[string]func() float64{
		"regular":  func() float64 { return 0.01 },
		"uniform":  func() float64 { return 0.01 * (0.5 + random.Float64()) },
		"a quota":  func() float64 { return []float64{0.01, 0.01, 0.01, 0.07}[random.IntN(4)] },
		"overload": func() float64 { return 0.01 * random.ExpFloat64() },
	} {
		t.Run(name, func(t *testing.T) {
			var l looks.Looks
			var at []float64
			now := time.Duration(0)
			for range 100_000 {
				d := time.Duration(interval() * 1e9)
				l.Add(d, 0)
				now += d
				at = append(at, now.Seconds())
			}
			var squares float64
			const spans = 50_000
			for range spans {
				from := random.Float64() * (at[len(at)-1] - 2)
				took := 0.5 + random.Float64()
				squares += math.Pow(seen(at, from, from+took)-took, 2)
			}
			if got, want := math.Sqrt(l.Ends()), math.Sqrt(squares/spans)*1e9; got < 0.95*want || got > 1.05*want {
				t.Errorf("a standard error of %.3g ms, in truth %.3g ms", got/1e6, want/1e6)
			}
		})
	}
}

// seen is the wall time of a span: each look counts half of the intervals around it.
func seen(at []float64, from, until float64) float64 {
	i, _ := slices.BinarySearch(at, from)
	j, _ := slices.BinarySearch(at, until)
	if i == j {
		return 0
	}
	return (at[j-1]+at[j])/2 - (at[max(0, i-1)]+at[i])/2
}

// TestALateLook: its error is larger. The delay is at most the interval.
func TestALateLook(t *testing.T) {
	const ms = time.Millisecond
	var l looks.Looks
	l.Add(100*ms, 0)
	l.Add(400*ms, 300*ms)
	l.Add(100*ms, time.Second)
	l.Add(0, time.Second)
	late := func(d, h float64) float64 { return d * (d*d/12 + h*h/6) }
	want := 2 * (late(100, 0) + late(400, 300) + late(100, 100)) / 600
	if got := l.Ends() / 1e12; math.Abs(got-want) > 1e-6*want {
		t.Errorf("%v ms², want %v", got, want)
	}
	if got := l.Single() / 1e12; math.Abs(got-110_000) > 1 {
		t.Errorf("%v ms², want 110000", got)
	}
	got := looks.Parse([]string{"another", l.Comment()})
	if diff := cmp.Diff(&l, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatCannotBeIsNoLooks(t *testing.T) {
	for _, text := range []string{
		``, `{`, `[]`, `{"n":-1}`, `{"n":1,"sum":-1}`, `{"n":1,"sum":1e308,"squares":1,"cubes":1}`,
		`{"n":1,"sum":1,"squares":2,"cubes":1}`, `{"n":1}`,
	} {
		if l := looks.Parse([]string{"spanprof wall looks: " + text}); l != nil {
			t.Errorf("%s is %v", text, l)
		}
	}
}
