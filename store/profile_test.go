// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// TestProfileRoundTrip has a profile with everything that must survive, in the
// order in which the store writes it.
func TestProfileRoundTrip(t *testing.T) {
	app := &profile.Mapping{ID: 1, Start: 0x400000, Limit: 0x800000, Offset: 0x1000, File: "/bin/app", BuildID: "b1", HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}
	libc := &profile.Mapping{ID: 2, Start: 0x7f0000, Limit: 0x7f8000, File: "/lib/libc.so.6"}
	unused := &profile.Mapping{ID: 3, Start: 0x7fa000, Limit: 0x7fb000, File: "[vdso]"}
	leaf := &profile.Function{ID: 1, Name: "app.leaf", SystemName: "app.leaf", Filename: "leaf.go", StartLine: 10}
	inlined := &profile.Function{ID: 2, Name: "app.inlined", SystemName: "_inlined", Filename: "leaf.go", StartLine: 20}
	main := &profile.Function{ID: 3, Name: "main.main", SystemName: "main.main", Filename: "main.go", StartLine: 30}
	l1 := &profile.Location{ID: 1, Mapping: app, Address: 0x400010, Line: []profile.Line{{Function: leaf, Line: 11, Column: 4}, {Function: inlined, Line: 21}}}
	l2 := &profile.Location{ID: 2, Mapping: app, Address: 0x400020, Line: []profile.Line{{Function: main, Line: 31}}, IsFolded: true}
	l3 := &profile.Location{ID: 3, Mapping: libc, Address: 0x7f0001}
	l4 := &profile.Location{ID: 4}
	ids := map[string][]string{"profile_id": {"00000000000000aa"}, "span_id": {"00000000000000aa"}, "trace_id": {"t"}, "span_name": {"GET /"}, "team": {"b", "a"}}
	in := &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		DefaultSampleType: "cpu",
		Sample: []*profile.Sample{
			{Location: []*profile.Location{l1, l2}, Value: []int64{1, 10}, Label: ids},
			{Location: []*profile.Location{l3, l2}, Value: []int64{2, 20}, Label: ids},
			{Location: []*profile.Location{l4}, Value: []int64{3, 30}, NumLabel: map[string][]int64{"bytes": {8, 16}, "n": {-1}}, NumUnit: map[string][]string{"bytes": {"bytes", "kb"}}},
		},
		Mapping:       []*profile.Mapping{app, libc, unused},
		Location:      []*profile.Location{l1, l2, l3, l4},
		Function:      []*profile.Function{leaf, inlined, main},
		TimeNanos:     epoch.UnixNano(),
		DurationNanos: int64(step),
		PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:        10,
	}
	var want, again bytes.Buffer
	if err := in.Copy().WriteUncompressed(&want); err != nil {
		t.Fatal(err)
	}
	s := newStore(t)
	export(t, s, inWindow(0, exporter.KindCPU, in))
	for range 2 {
		out, err := s.Profile(store.Query{Kind: exporter.KindCPU, IDs: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := out.CheckValid(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(in.String(), out.String()); diff != "" {
			t.Error(diff)
		}
		again.Reset()
		if err := out.WriteUncompressed(&again); err != nil {
			t.Fatal(err)
		}
		// String leaves some fields out; the bytes have all of them, in
		// an order of strings that maps decide.
		if diff := cmp.Diff(canonical(t, want.Bytes()), canonical(t, again.Bytes())); diff != "" {
			t.Error(diff)
		}
		// The profile is the caller's: to spoil it spoils nothing.
		for _, f := range out.Function {
			f.Name = "spoilt"
		}
		out.Sample[0].Label["team"][0] = "spoilt"
		out.Sample[0].Location[0].Line[0].Line = -1
	}
}

// TestProfileSums takes the same profile in twice, and from the wire.
func TestProfileSums(t *testing.T) {
	in := newGenerator().profile(500)
	var b bytes.Buffer
	if err := in.Copy().Write(&b); err != nil {
		t.Fatal(err)
	}
	s := newStore(t)
	for n := range 2 {
		export(t, s, exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU, Start: epoch.Add(step), Duration: step}, b.Bytes()))
		out, err := s.Profile(store.Query{Kind: exporter.KindCPU, SampleType: "samples", IDs: true})
		if err != nil {
			t.Fatal(err)
		}
		if out.DefaultSampleType != "samples" || out.TimeNanos != epoch.Add(step).UnixNano() || out.DurationNanos != int64(step)*int64(n+1) {
			t.Error(out.DefaultSampleType, out.TimeNanos, out.DurationNanos)
		}
		if diff := cmp.Diff(sums(in, int64(n+1)), sums(out, 1)); diff != "" {
			t.Error(diff)
		}
	}
}

// sums writes the samples of p, those with equal stacks and labels summed and
// multiplied by n.
func sums(p *profile.Profile, n int64) []string {
	values := make(map[string][]int64)
	for _, s := range p.Sample {
		var key strings.Builder
		fmt.Fprint(&key, s.Label, s.NumLabel, " ")
		for i, l := range s.Location {
			if i > 0 {
				key.WriteByte(';')
			}
			for _, line := range l.Line {
				key.WriteString(line.Function.Name)
			}
		}
		sum := values[key.String()]
		if sum == nil {
			sum = make([]int64, len(s.Value))
			values[key.String()] = sum
		}
		for i, v := range s.Value {
			sum[i] += n * v
		}
	}
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		lines = append(lines, fmt.Sprint(key, " ", values[key]))
	}
	return lines
}

// canonical parses a profile and returns all that is in it.
func canonical(t *testing.T, b []byte) []string {
	t.Helper()
	p, err := profile.ParseUncompressed(b)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range p.Sample {
		lines = append(lines, fmt.Sprint(s.Value, s.Label, s.NumLabel, s.NumUnit))
		for _, l := range s.Location {
			lines = append(lines, fmt.Sprintf("%d %x %v", l.ID, l.Address, l.IsFolded))
			for _, line := range l.Line {
				lines = append(lines, fmt.Sprint(*line.Function, line.Line, line.Column))
			}
		}
	}
	for _, m := range p.Mapping {
		lines = append(lines, fmt.Sprint(*m))
	}
	return append(lines, fmt.Sprint(p.TimeNanos, p.DurationNanos, *p.PeriodType, p.Period, p.DefaultSampleType))
}

// TestProfileWithoutIDs sums what differs in ids alone.
func TestProfileWithoutIDs(t *testing.T) {
	s := newStore(t)
	g := newGenerator()
	for n := range 3 {
		p := g.profile(500)
		p.Sample = append(p.Sample, cpuProfile(
			sample{"f", 1, labels("profile_id", "job 1", "team", "a")},
			sample{"f", 2, labels("profile_id", "job 2", "team", "a")},
			sample{"f", 4, labels("profile_id", "job 3", "team", "b")},
			sample{"f", 8, labels("trace_id", "no id")},
		).Sample...)
		export(t, s, inWindow(n, exporter.KindCPU, p))
	}
	for name, matchers := range map[string][]store.Matcher{
		"all":      nil,
		"by label": {matcher(t, "span_name", store.MatchRegexp, ".*1")},
		"by id":    {matcher(t, "profile_id", store.MatchRegexp, "job.*|0.*")},
	} {
		q := store.Query{Kind: exporter.KindCPU, Matchers: matchers, IDs: true}
		whole, err := s.Profile(q)
		if err != nil {
			t.Fatal(err)
		}
		q.IDs = false
		p, err := s.Profile(q)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.CheckValid(); err != nil {
			t.Error(err)
		}
		n := len(whole.Sample)
		for _, s := range whole.Sample {
			s.Label = maps.Clone(s.Label)
			for _, id := range []string{"profile_id", "span_id", "trace_id"} {
				delete(s.Label, id)
			}
		}
		want := sums(whole, 1)
		if diff := cmp.Diff(want, sums(p, 1)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if len(p.Sample) != len(want) || len(want) == n {
			t.Errorf("%s: %d samples with ids, %d without, %d different", name, n, len(p.Sample), len(want))
		}
	}
}

// TestProfileMaxSamples counts what is returned, not what is summed in it.
func TestProfileMaxSamples(t *testing.T) {
	s := newStore(t)
	for n := range 3 {
		export(t, s, inWindow(n, exporter.KindCPU, cpuProfile(
			sample{"main;f", 1, labels("span_id", "00000000000000aa")},
			sample{"main;f", 1, labels("span_id", "00000000000000bb")},
			sample{"main;g", 1, nil},
		)))
	}
	for _, test := range []struct {
		bound int
		ids   bool
		fails bool
	}{{0, true, false}, {3, true, false}, {2, true, true}, {2, false, false}, {1, false, true}} {
		p, err := s.Profile(store.Query{Kind: exporter.KindCPU, MaxSamples: test.bound, IDs: test.ids})
		if (p == nil) != test.fails || errors.Is(err, store.ErrTooManySamples) != test.fails {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
