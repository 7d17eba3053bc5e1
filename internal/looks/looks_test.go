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

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

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
			now := begin
			for range 100_000 {
				next := now.Add(time.Duration(interval() * 1e9))
				l.Add(now, next, 0, 0, 0)
				at = append(at, next.Sub(begin).Seconds())
				now = next
			}
			var squares float64
			const spans = 50_000
			for range spans {
				from := random.Float64() * (at[len(at)-1] - 2)
				took := 0.5 + random.Float64()
				squares += math.Pow(seen(at, from, from+took)-took, 2)
			}
			if got, want := math.Sqrt(l.Ends(time.Time{}, time.Time{})), math.Sqrt(squares/spans)*1e9; got < 0.95*want || got > 1.05*want {
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

func TestAProfileCarriesLooks(t *testing.T) {
	var l looks.Looks
	l.Add(begin, begin.Add(10*time.Millisecond), 0, 0, 0)
	l.Add(begin.Add(10*time.Millisecond), begin.Add(time.Second), 900*time.Millisecond, 0, 0)
	got := looks.Parse([]string{"another", l.Comment()})
	if diff := cmp.Diff(&l, got); diff != "" {
		t.Fatal(diff)
	}
}

// TestACommentHasRoom: a profile carries the most intervals.
func TestACommentHasRoom(t *testing.T) {
	var merged looks.Looks
	for i := range 1100 {
		var one looks.Looks
		one.Add(begin, begin.Add(time.Hour+time.Duration(i)), time.Minute+1, time.Minute+1, time.Millisecond+1)
		merged.Merge(&one)
	}
	if got := looks.Parse([]string{merged.Comment()}); got == nil || len(got.Long) != 1024 || got.N != 76 {
		t.Errorf("got %.100v, want 1024 intervals and the sums of 76", got)
	}
}

func TestWhatCannotBeIsNoLooks(t *testing.T) {
	for _, text := range []string{
		``, `{`, `[]`, `{"n":-1}`, `{"n":1,"sum":-1}`, `{"n":1,"sum":1e308,"squares":1,"cubes":1}`,
		`{"n":1,"sum":1,"squares":2,"cubes":1}`, `{"long":[{"watchedNs":0}]}`,
	} {
		if l := looks.Parse([]string{"spanprof wall looks: " + text}); l != nil {
			t.Errorf("%s is %v", text, l)
		}
	}
}

// TestAnEndInALongInterval: its error is larger.
func TestAnEndInALongInterval(t *testing.T) {
	var l looks.Looks
	now := begin
	for i := range 1000 {
		d := 10 * time.Millisecond
		if i == 500 {
			d = time.Second
		}
		l.Add(now, now.Add(d), 0, 0, 0)
		now = now.Add(d)
	}
	first, long := begin.Add(10*time.Millisecond), begin.Add(5500*time.Millisecond)
	for _, test := range []struct {
		begin, end time.Time
		d1, d2     float64 // of the intervals, in s
	}{
		{first, now.Add(-time.Millisecond), 0.01, 0.01},
		{first, long, 0.01, 1},
		{long, long, 1, 1},
	} {
		want := math.Sqrt((test.d1*test.d1 + test.d2*test.d2) / 12)
		if got := math.Sqrt(l.Ends(test.begin, test.end)) / 1e9; math.Abs(got-want) > 0.001*want {
			t.Errorf("%v to %v: %v s, not %v", test.begin, test.end, got, want)
		}
	}
}

// TestAnEndOfALateOrVagueLook: a late look at the end of the interval makes the error
// larger. So does an end that may be on either side of a look.
func TestAnEndOfALateOrVagueLook(t *testing.T) {
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	const ms = time.Millisecond
	var l looks.Looks
	l.Add(at(0), at(100), 0, 0, 0)
	l.Add(at(100), at(500), 0, 300*ms, 0)
	l.Add(at(500), at(600), 0, 0, 50*ms)
	l.Add(at(600), at(700), 0, time.Second, 0) // the delay exceeds the interval
	l.Add(at(700), at(800), 60*ms, 20*ms, 0)   // with 60 ms unwatched
	punctual := func(d float64) float64 { return d * d / 12 }
	late := func(d, h float64) float64 { return d*d/12 + h*h/6 }
	for name, test := range map[string]struct {
		at   int
		want float64 // in ms²
	}{
		"in time":                                {50, punctual(100)},
		"late":                                   {300, late(400, 300)},
		"next to a look":                         {99, late(400, 300)},
		"before a vague look":                    {460, late(400, 300)},
		"after a vague look":                     {530, punctual(100)},
		"late by all of it":                      {650, late(100, 100)},
		"late, and not watched":                  {750, late(40, 20)},
		"at a time of which no interval is kept": {5000, (punctual(100)*200 + late(400, 300)*400 + late(100, 100)*100 + late(40, 20)*40) / 740},
	} {
		if got := l.End(at(test.at)) / 1e12; math.Abs(got-test.want) > 1e-6*test.want {
			t.Errorf("%s: %v ms², want %v", name, got, test.want)
		}
	}
	// A short interval after a long one with a vague look.
	l = looks.Looks{}
	l.Add(at(0), at(100), 0, 0, 0)
	l.Add(at(100), at(110), 0, 0, 40*ms)
	l.Add(at(110), at(400), 0, 0, 30*ms)
	for _, test := range []struct {
		at   int
		want float64
	}{{50, punctual(100)}, {85, punctual(290)}, {200, punctual(290)}} {
		if got := l.End(at(test.at)) / 1e12; math.Abs(got-test.want) > 1e-6*test.want {
			t.Errorf("at %d ms: %v ms², want %v", test.at, got, test.want)
		}
	}
	if got := looks.Parse([]string{l.Comment()}); got == nil || got.End(at(85)) != l.End(at(85)) {
		t.Error("the comment of a profile lacks it")
	}
}
