// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package samples_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/intern"
	"github.com/spanprof/spanprof/store/internal/samples"
)

// rounding is how much a time in a window of 10 s may be off.
const rounding = 10 * time.Second / (1 << 14)

// timesOf returns the times of all samples of a window by their places, after epoch.
func timesOf(w *samples.Window) map[int][]time.Duration {
	all := map[int][]time.Duration{}
	for g := range w.Groups() {
		for i, times := range (samples.Group{Window: w, Index: g}).Times() {
			for _, at := range times {
				all[i] = append(all[i], time.Unix(0, at).Sub(epoch))
			}
		}
	}
	return all
}

func checkTimes(t *testing.T, what string, got, want []time.Duration) {
	t.Helper()
	want = slices.Sorted(slices.Values(want))
	near := func(a, b time.Duration) bool { return (a - b).Abs() <= rounding }
	if !slices.EqualFunc(got, want, near) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// randomSamples returns samples of spans that run for a while, as a server has them.
func randomSamples(r *rand.Rand, n int) []timed {
	var in []timed
	for i := range n {
		at := time.Duration(r.Int64N(int64(10 * time.Second)))
		of := timed{labels: ids(1 + r.IntN(n/2+1))}
		for range 1 + r.IntN(3)*r.IntN(2) {
			of.at = append(of.at, min(at+time.Duration(r.Int64N(int64(50*time.Millisecond))), 10*time.Second-1))
		}
		if i%7 == 0 {
			of.labels = nil
		}
		in = append(in, of)
	}
	return in
}

func TestTimes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 10, 700, 3000} {
		in := randomSamples(r, n)
		w, places := build(t, in...)
		got := timesOf(&w)
		for i := range in {
			checkTimes(t, "sample", got[int(places[i])], in[i].at)
		}
		// A part keeps those of its groups.
		var groups []int
		for g := range w.Groups() {
			if g%3 == 1 {
				groups = append(groups, g)
			}
		}
		part := cut(&w, groups)
		for i, g := range groups {
			var want, got [][]int64
			for _, times := range (samples.Group{Window: &w, Index: g}).Times() {
				want = append(want, slices.Clone(times))
			}
			for _, times := range (samples.Group{Window: &part, Index: i}).Times() {
				got = append(got, slices.Clone(times))
			}
			// Packed anew, in units of the part's own time.
			if !slices.EqualFunc(want, got, func(want, got []int64) bool {
				return slices.EqualFunc(want, got, func(want, got int64) bool { return max(want-got, got-want) <= int64(10*time.Second)/(1<<14) })
			}) {
				t.Fatalf("group %d of the part: got %v, want %v", i, got, want)
			}
		}
	}
}

// TestTimesWithoutOrder has numbers of times that are not those of the samples.
func TestTimesWithoutOrder(t *testing.T) {
	in := []timed{
		{labels: ids(1), at: []time.Duration{5 * tick, tick, 3 * tick}, count: 7},
		{labels: ids(1), count: 2},
		{labels: ids(1), at: []time.Duration{0}, count: 1},
		{labels: ids(2), at: []time.Duration{10*time.Second - 1}, count: -1},
	}
	w, places := build(t, in...)
	got := timesOf(&w)
	for i := range in {
		checkTimes(t, "sample", got[int(places[i])], in[i].at)
	}
}

func TestNoTimes(t *testing.T) {
	for _, in := range [][]timed{nil, {{labels: ids(1), count: 3}}} {
		w, _ := build(t, in...)
		if w.HasTimes() || len(timesOf(&w)) > 0 {
			t.Error("times out of nothing")
		}
		groups := make([]int, w.Groups())
		if part := cut(&w, groups); part.HasTimes() {
			t.Error("a part has times that the window has not")
		}
	}
}

// TestFarTimes has times that are as far apart as numbers allow.
func TestFarTimes(t *testing.T) {
	p := &profile.Profile{Sample: []*profile.Sample{{}, {}}}
	times := [][]int64{{math.MaxInt64, math.MinInt64}, {0}}
	w, places := samples.NewTable(intern.NewTexts()).Build(exporter.NewTimedProfile(exporter.Window{Start: epoch}, p, times), p)
	want := [][]int64{{math.MinInt64, math.MaxInt64}, {0}}
	for i, got := range (samples.Group{Window: &w}).Times() {
		of := want[slices.Index(places, uint32(i))]
		if !slices.EqualFunc(got, of, func(a, b int64) bool { return uint64(max(a, b))-uint64(min(a, b)) <= 1<<49 }) {
			t.Errorf("got %v, want %v", got, of)
		}
	}
}

// TestBytesPerSample holds the cost that package store documents.
func TestBytesPerSample(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	size := func(in []timed) float64 {
		n := 0
		for i := range in {
			n += len(in[i].at)
		}
		with, _ := build(t, in...)
		for i := range in {
			in[i].count, in[i].at = int64(len(in[i].at)), nil
		}
		without, _ := build(t, in...)
		return float64(with.Size()-without.Size()) / float64(n)
	}
	// Each sample in a span of its own is the dearest case.
	var own, busy []timed
	for i := range 1000 {
		own = append(own, timed{labels: ids(1 + i), at: []time.Duration{time.Duration(r.Int64N(int64(10 * time.Second)))}})
	}
	for i := range 50 {
		var at []time.Duration
		for k := range 20 {
			at = append(at, time.Duration(i*20+k)*tick)
		}
		busy = append(busy, timed{labels: ids(1 + i), at: at})
	}
	of := []float64{size(own), size(randomSamples(r, 1000)), size(busy)}
	t.Logf("bytes a sample: %.2f in spans of their own, %.2f of a server, %.2f in busy spans", of[0], of[1], of[2])
	if of[0] > 2.3 || of[1] > 2 || of[2] > 1.3 {
		t.Errorf("bytes a sample: %.2f, want at most 2.3, 2 and 1.3", of)
	}
}

// TestManyTimes has 64 threads at 200 Hz, of one stack and each in a span of its own.
func TestManyTimes(t *testing.T) {
	const all = 64 * 200 * 10
	var one []time.Duration
	for i := range all {
		one = append(one, time.Duration(i)*10*time.Second/all)
	}
	w, _ := build(t, timed{at: one})
	got := timesOf(&w)[0]
	if len(got) < 1<<15 || len(got) > 1<<16 {
		t.Errorf("%d times are kept, want about 65536", len(got))
	}
	// They are spread over the window like all.
	for i, at := range got {
		if want := time.Duration(i) * 10 * time.Second / time.Duration(len(got)); (at - want).Abs() > 2*rounding {
			t.Fatalf("time %d: %v, want %v", i, at, want)
		}
	}
	if size := w.Size(); size > 1<<17 {
		t.Errorf("%d bytes for a window with one stack", size)
	}

	var each []timed
	for i, at := range one {
		each = append(each, timed{labels: ids(i + 1), at: []time.Duration{at}})
	}
	w, _ = build(t, each...)
	for g := 0; g < w.Groups(); g += 999 {
		for i, times := range (samples.Group{Window: &w, Index: g}).Times() {
			if len(times) != 1 {
				t.Fatalf("sample %d has times %v, want one", i, times)
			}
		}
	}
}

// cut returns the part of one window.
func cut(w *samples.Window, groups []int) samples.Window {
	part, _ := samples.Part(samples.Cut{Window: w, Groups: groups})
	return part
}
