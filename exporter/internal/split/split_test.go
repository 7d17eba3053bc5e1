// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package split_test

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/internal/split"
)

// shape is what a generated profile is like.
type shape struct {
	samples, frames, functions int
	handlers                   int // each with functions of its own; 0: any function calls any
	labels                     bool
}

// generate returns a CPU profile, with its samples in no order, as runtime/pprof
// writes them. Six frames are the server's, a third of the others is shared code.
func generate(r *rand.Rand, s shape) *profile.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     10_000_000,
		Comments:   []string{"a comment"},
		Mapping:    []*profile.Mapping{{ID: 1, Start: 0x400000, Limit: 0x4000000, File: "/srv/shop", BuildID: "abc", HasFunctions: true}},
	}
	for i := range s.functions {
		name := fmt.Sprintf("example.com/shop/internal/pkg%d.(*Service%d).Method%d", i/100, i/10, i)
		f := &profile.Function{ID: uint64(i + 1), Name: name, SystemName: name, Filename: fmt.Sprintf("/src/shop/internal/pkg%d/service%d.go", i/100, i/10), StartLine: int64(i % 500)}
		p.Function = append(p.Function, f)
		p.Location = append(p.Location, &profile.Location{ID: uint64(i + 1), Address: uint64(0x400000 + i*64), Mapping: p.Mapping[0], Line: []profile.Line{{Function: f, Line: int64(i%500) + 7}}})
	}
	const server = 6
	shared := s.functions / 20
	for i := range s.samples {
		sample := &profile.Sample{Value: []int64{1 + r.Int64N(3), 0}}
		sample.Value[1] = sample.Value[0] * p.Period
		if s.labels {
			sample.Label = map[string][]string{
				"span_id": {fmt.Sprintf("%016x", r.Uint64())}, "trace_id": {fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64())},
				"span_name": {fmt.Sprint("GET /", r.IntN(100))},
			}
			if i%7 == 0 {
				sample.NumLabel = map[string][]int64{"bytes": {r.Int64N(1 << 40), -1}}
				sample.NumUnit = map[string][]string{"bytes": {"bytes", "count"}}
			}
		}
		handler := r.IntN(max(s.handlers, 1))
		for d := s.frames - 1; d >= 0; d-- {
			own := (s.functions - shared) / max(s.handlers, 1)
			l := shared + handler*own + r.IntN(own)
			switch root := s.frames - 1 - d; {
			case s.handlers == 0:
				l = r.IntN(s.functions)
			case root < server:
				l = root
			case root == server:
				l = shared + handler*own
			case r.IntN(3) == 0:
				l = r.IntN(shared)
			}
			sample.Location = append(sample.Location, p.Location[l])
		}
		slices.Reverse(sample.Location) // the leaf comes first
		p.Sample = append(p.Sample, sample)
	}
	return p
}

// sums adds up the values of the samples by stack and labels.
func sums(t testing.TB, profiles ...*exporter.Profile) map[string][]int64 {
	t.Helper()
	sums := map[string][]int64{}
	for _, e := range profiles {
		data, err := e.Pprof()
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.ParseData(data) // as the server does
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Sample {
			var key strings.Builder
			for _, l := range s.Location {
				fmt.Fprint(&key, l.Address, l.Line[0].Line, l.Line[0].Function.Name, " ")
			}
			for _, k := range slices.Sorted(maps.Keys(s.Label)) {
				fmt.Fprint(&key, k, s.Label[k])
			}
			for _, k := range slices.Sorted(maps.Keys(s.NumLabel)) {
				fmt.Fprint(&key, k, s.NumLabel[k], s.NumUnit[k])
			}
			sum := sums[key.String()]
			if sum == nil {
				sum = make([]int64, 1+len(s.Value))
				sums[key.String()] = sum
			}
			sum[0]++ // the number of samples
			for i, v := range s.Value {
				sum[1+i] += v
			}
		}
	}
	return sums
}

func uncompressed(t testing.TB, e *exporter.Profile) int {
	t.Helper()
	data, err := e.Pprof()
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}

func parts(t testing.TB, p *exporter.Profile, limits split.Limits) []*exporter.Profile {
	t.Helper()
	parsed, err := p.Parsed()
	if err != nil {
		t.Fatal(err)
	}
	parts, err := split.Profile(p, split.Pprof(parsed), limits)
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

var window = exporter.Window{Kind: exporter.KindCPU, Start: time.Unix(1_800_000_000, 0), Duration: 10 * time.Second}

// Whatever the profile, the parts are within the limits, add up to it, and follow
// each other in time.
func TestParts(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range 25 {
		s := shape{samples: 1 + r.IntN(1000), frames: 1 + r.IntN(20), functions: 200 + r.IntN(1000), handlers: r.IntN(20), labels: r.IntN(2) == 0}
		limits := split.Limits{Samples: 50 + r.IntN(500), Bytes: 16<<10 + r.IntN(128<<10)}
		p := generate(r, s)
		whole := exporter.NewParsedProfile(window, p)
		got := parts(t, whole, limits)
		if diff := cmp.Diff(sums(t, whole), sums(t, got...)); diff != "" {
			t.Fatalf("seed %d, profile %d, %+v: sums (-want +got):\n%s", seed, i, s, diff)
		}
		for j, part := range got {
			parsed, err := part.Parsed()
			if err != nil {
				t.Fatal(err)
			}
			if err := parsed.CheckValid(); err != nil {
				t.Errorf("part %d: %v", j, err)
			}
			if n := len(parsed.Sample); n > limits.Samples {
				t.Errorf("seed %d: a part of %d samples, want at most %d", seed, n, limits.Samples)
			}
			if n := uncompressed(t, part); n > limits.Bytes {
				t.Errorf("seed %d: a part of %d bytes, want at most %d", seed, n, limits.Bytes)
			}
			if want := window.Start.Add(-time.Duration(j) * time.Millisecond); !part.Start().Equal(want) || !part.End().Equal(whole.End()) || part != whole && parsed.TimeNanos != want.UnixNano() {
				t.Errorf("part %d begins at %v and %d, want %v", j, part.Start(), parsed.TimeNanos, want)
			}
		}
		if p.TimeNanos != 0 || len(p.Sample) != s.samples {
			t.Error("the profile was changed")
		}
	}
}

// Sorting keeps what samples share in one part: hardly more parts than the size
// of the profile asks for.
func TestNumberOfParts(t *testing.T) {
	s := shape{samples: 6_000, frames: 40, functions: 2_000, handlers: 100, labels: true}
	limits := split.Limits{Samples: 16_000, Bytes: 200 << 10}
	whole := exporter.NewParsedProfile(window, generate(rand.New(rand.NewPCG(1, 2)), s))
	got := parts(t, whole, limits)
	size := uncompressed(t, whole)
	least := float64(size) / float64(limits.Bytes)
	t.Logf("%d bytes, %.2f times the limit: %d parts", size, least, len(got))
	if float64(len(got)) > math.Ceil(1.2*least) {
		t.Errorf("%d parts, want at most 1.2 times %.2f", len(got), least)
	}
}

// TestSplitKeepsTimes cuts a profile that knows when its samples were taken.
func TestSplitKeepsTimes(t *testing.T) {
	f := &profile.Function{ID: 1, Name: "main.work"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}}, Function: []*profile.Function{f}, Location: []*profile.Location{l}}
	var times [][]int64
	for i := range int64(100) {
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{i + 1}})
		times = append(times, []int64{1000 + i})
	}
	window := exporter.Window{Start: time.Unix(0, 1000), Duration: 100}
	parts, err := split.Profile(exporter.NewTimedProfile(window, p, times), split.Pprof(p), split.Limits{Samples: 30, Bytes: 1 << 20})
	if err != nil || len(parts) != 4 {
		t.Fatalf("%d parts, %v, want 4", len(parts), err)
	}
	for _, part := range parts {
		parsed, err := part.Parsed()
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range parsed.Sample {
			at := part.SampleTimes()[i]
			if len(at) != 1 || at[0] != 999+s.Value[0] || at[0] < part.Start().UnixNano() || at[0] >= part.End().UnixNano() {
				t.Errorf("sample %d has the times %v, in a part from %v to %v", s.Value[0], at, part.Start().UnixNano(), part.End().UnixNano())
			}
		}
	}
}
