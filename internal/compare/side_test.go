// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/compare"
)

// sideOf returns a side with a profile of ten seconds for each run.
func sideOf(t *testing.T, span string, runs int, make func(c *cpu)) *compare.Side {
	t.Helper()
	side := compare.NewSide(span)
	for i := range runs {
		c := newCPU()
		make(c)
		add(t, side, strconv.Itoa(i), c.of(exporter.KindCPU, 10*time.Second))
	}
	return side
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// A recursive function counts once. Where the runtime interrupts a function is the function's.
func TestLeaves(t *testing.T) {
	for stack, name := range map[string]string{"main > walk > walk > walk": "walk", "main > loop > runtime.asyncPreempt": "loop"} {
		s := sideOf(t, "", 1, func(c *cpu) { c.add(stack, 50) })
		r := result(t, s, s)
		near(t, "total", function(t, r, name).Total.Before, 50*1e7/10)
		near(t, "self", function(t, r, name).Self.Before, 50*1e7/10)
		if len(r.Functions) != 2 {
			t.Errorf("functions: %+v", r.Functions)
		}
	}
}

func TestSelection(t *testing.T) {
	samples := func(c *cpu) {
		c.add("main > cart > price", 30, "span_name", "GET /cart", "span_id", "1")
		c.add("main > cart > price", 20, "span_name", "GET /cart", "span_id", "2")
		c.add("main > item > load", 40, "span_name", "GET /item", "span_id", "3")
		c.add("gc", 10)
	}
	for span, want := range map[string]float64{"": 100 * 1e7 / 10, "GET /cart": 50 * 1e7 / 10} {
		s := sideOf(t, span, 3, samples)
		near(t, fmt.Sprintf("total of %q", span), result(t, s, s).Total.Before, want)
	}
	s := sideOf(t, "GET /none", 3, samples)
	if _, err := compare.Compare(s, s); err == nil || !strings.Contains(err.Error(), "0 samples before and 0 after meet") {
		t.Errorf("a span that is not there: error %v", err)
	}
}

func TestRepeated(t *testing.T) {
	one := func(c *cpu) { c.add("main > work", 500) }
	for runs, want := range map[int]bool{2: false, 3: true} {
		side := sideOf(t, "", runs, one)
		add(t, side, "0", profileOf(400, 100)) // a run may have several profiles
		r := result(t, side, sideOf(t, "", 4, one))
		if tested := function(t, r, "main").Total.Test != nil; r.Repeated != want || tested != want {
			t.Errorf("%d runs: repeated %v, tested %v", runs, r.Repeated, tested)
		}
		near(t, "samples", r.Before.Samples, float64(500*runs+500))
	}
}

// Requests come before seconds.
func TestPer(t *testing.T) {
	samples := func(c *cpu) { c.add("main > work", 500) }
	s := sideOf(t, "", 3, samples)
	if per := result(t, s, s).Per; per != compare.PerSecond {
		t.Errorf("per %s", per)
	}
	for _, bad := range [][]float64{{}, {1, 2}, {0}, {-1}, {math.NaN()}} {
		if err := s.SetWork(bad...); err == nil {
			t.Errorf("SetWork(%v): no error", bad)
		}
	}
	if err := s.SetWork(100, 200, 400); err != nil {
		t.Fatal(err)
	}
	r := result(t, s, s)
	near(t, "total", r.Total.Before, 5e9*(1.0/100+1.0/200+1.0/400)/3)
	if r.Per != compare.PerRequest {
		t.Errorf("per %s", r.Per)
	}
	snapshot := compare.NewSide("")
	c := newCPU()
	samples(c)
	add(t, snapshot, "a", c.of(exporter.KindCPU, 0))
	if _, err := compare.Compare(snapshot, s); err == nil || !strings.Contains(err.Error(), "no duration") {
		t.Errorf("without a duration and requests: error %v", err)
	}
}

// A function that is new, or gone, has moved.
func TestNewFunction(t *testing.T) {
	before := sideOf(t, "", 3, func(c *cpu) {
		c.add("main > old", 100)
		c.add("main > stays", 400)
	})
	after := sideOf(t, "", 3, func(c *cpu) {
		c.add("main > new", 100)
		c.add("main > stays", 400)
	})
	r := result(t, before, after)
	for name, moved := range map[string]bool{"old": true, "new": true, "stays": false, "main": false} {
		f := function(t, r, name)
		if f.Moved != moved {
			t.Errorf("%s: moved %v, %+v", name, f.Moved, f.Total.Test)
		}
		if math.IsInf(f.Total.Ratio, 0) || math.IsNaN(f.Total.Ratio) {
			t.Errorf("%s: ratio %v", name, f.Total.Ratio)
		}
	}
	near(t, "ratio of new", function(t, r, "new").Total.Ratio, 201)
	if r.Functions[0].Name != "new" || r.Functions[1].Name != "old" {
		t.Errorf("order: %s, %s", r.Functions[0].Name, r.Functions[1].Name)
	}
}

// Functions with few samples are not tested. A function is tested with its callees, and
// without them unless they are nearly nothing.
func TestFunctionsTested(t *testing.T) {
	s := sideOf(t, "", 3, func(c *cpu) {
		c.add("main > small", 9)
		c.add("main > enough", 10)
		c.add("main > walk", 100)
		c.add("main > walk > leaf", 100)
	})
	r := result(t, s, s)
	for name, want := range map[string][2]bool{"walk": {true, true}, "leaf": {true, false}, "enough": {true, false}, "small": {false, false}} {
		if f := function(t, r, name); f.Total.Test != nil != want[0] || f.Self.Test != nil != want[1] {
			t.Errorf("%s: tests %v, %v, want %v", name, f.Total.Test, f.Self.Test, want)
		}
	}
}

// Profiles of 97 and of 100 Hz, with time alone or counts alone, are of the same time.
func TestRates(t *testing.T) {
	counts := newCPU()
	counts.p.SampleType, counts.p.Period = counts.p.SampleType[:1], int64(1e9)/97
	counts.values("main > work", []int64{97})
	times := newCPU()
	times.p.SampleType = times.p.SampleType[1:]
	times.values("main > work", []int64{1e9})
	a, b := compare.NewSide(""), compare.NewSide("")
	add(t, a, "a", counts.of(exporter.KindCPU, time.Second))
	add(t, b, "b", times.of(exporter.KindCPU, time.Second))
	r := result(t, a, b)
	if ratio := r.Total.After / r.Total.Before; math.Abs(ratio-1) > 1e-6 {
		t.Errorf("ratio %v, want 1", ratio)
	}
	near(t, "samples of times", r.After.Samples, 100)
}

// Addresses without symbols differ from build to build: they count for their library.
func TestNoSymbols(t *testing.T) {
	c := newCPU()
	c.add("main > x", 10)
	c.p.Sample[0].Location[0].Line = nil
	c.p.Sample[0].Location[0].Mapping = &profile.Mapping{File: "/lib/libc.so.6"}
	c.add("main > y", 10)
	c.p.Sample[1].Location[0].Line = nil
	s := compare.NewSide("")
	add(t, s, "a", c.of(exporter.KindCPU, time.Second))
	r := result(t, s, s)
	function(t, r, "(no symbol) libc.so.6")
	function(t, r, "(no symbol)")
}

func TestBadProfiles(t *testing.T) {
	s := compare.NewSide("")
	empty := newCPU()
	empty.p.SampleType = nil
	noPeriod := newCPU()
	noPeriod.p.SampleType, noPeriod.p.PeriodType = noPeriod.p.SampleType[:1], nil
	noCount := newCPU()
	noCount.p.SampleType, noCount.p.PeriodType = noCount.p.SampleType[1:], nil
	for name, p := range map[string]*exporter.Profile{
		"no count":  noCount.of(exporter.KindCPU, time.Second),
		"no types":  empty.of(exporter.KindCPU, time.Second),
		"no period": noPeriod.of(exporter.KindCPU, time.Second),
		"nil":       exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU}, nil),
	} {
		if err := s.Add("a", p); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := compare.Compare(s, s); err == nil {
		t.Error("sides without profiles are compared")
	}
}

// Values that a profiler does not write are an error, and no result that has numbers
// which JSON cannot write.
func TestHostileValues(t *testing.T) {
	for name, test := range map[string]struct {
		samples, nanoseconds int64
		want                 string // the error, "" for none
	}{
		"negative time":    {10, -1e9, "values below zero"},
		"negative count":   {-10, 1e9, "values below zero"},
		"no time":          {10, 0, "have no CPU time"},
		"no count":         {0, 1e9, "0 samples before and 0 after meet the conditions"},
		"far too much":     {1 << 62, 1 << 62, ""},
		"almost no sample": {1, 1 << 62, ""},
	} {
		c, side := newCPU(), compare.NewSide("")
		c.values("main.f", []int64{test.samples, test.nanoseconds})
		var err error
		for _, run := range []string{"a", "b", "c"} {
			if err == nil {
				err = side.Add(run, c.of(exporter.KindCPU, time.Second))
			}
		}
		var r *compare.Result
		if err == nil {
			r, err = compare.Compare(side, side)
		}
		if test.want != "" {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %q", name, err, test.want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%s: %v: %+v", name, err, r.Functions)
		}
	}
}

// One function takes a fifth more: that is found, and of all that is claimed 5 % are
// false. Its callers move too.
func TestOneFunctionMoved(t *testing.T) {
	for _, test := range []struct {
		runs  int
		by    float64
		least int // of 50
	}{
		{5, 0.2, 48},
		{3, 0.3, 45},
	} {
		p := program{rand.New(rand.NewPCG(2, uint64(test.runs))), 8000}
		const comparisons = 50
		found, covered, falseShare := 0, 0, 0.0
		for range comparisons {
			r := result(t, p.side(t, test.runs, "", 0), p.side(t, test.runs, "f00", test.by))
			f := function(t, r, "f00")
			if f.Moved {
				found++
			}
			if f.Total.Test.Low <= 1+test.by && f.Total.Test.High >= 1+test.by {
				covered++
			}
			wrong := 0
			for _, f := range r.Functions {
				if f.Moved && f.Name != "f00" && f.Name != "handler0" && f.Name != "main" {
					wrong++
				}
			}
			falseShare += float64(wrong) / float64(max(1, moved(r))) / comparisons
		}
		t.Logf("%d runs a side: found %d, %.1f%% of claims false, the interval has the truth %d times", test.runs, found, 100*falseShare, covered)
		if found < test.least {
			t.Errorf("%d runs a side: %+.0f%% found in %d of %d, want %d", test.runs, 100*test.by, found, comparisons, test.least)
		}
		if falseShare > 0.08 {
			t.Errorf("%d runs a side: %.1f%% of claims are false, want 5 %%", test.runs, 100*falseShare)
		}
		if covered < comparisons*9/10 {
			t.Errorf("%d runs a side: the 95 %% interval has the true ratio in %d of %d", test.runs, covered, comparisons)
		}
	}
}

func moved(r *compare.Result) int {
	n := 0
	for _, f := range r.Functions {
		if f.Moved {
			n++
		}
	}
	return n
}
