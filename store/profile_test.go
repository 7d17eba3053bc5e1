// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// TestProfileRoundTrip has a profile with everything that must survive, in the order in which the
// store writes it. It comes twice, the second time from the wire.
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
	ids := map[string][]string{"profile_id": {"00000000000000aa"}, "span_id": {"00000000000000aa"}, "trace_id": {"t"}, "ended_span_id": {"00000000000000bb"}, "span_name": {"GET /"}, "team": {"b", "a"}}
	in := &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		DefaultSampleType: "samples",
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
	var wire bytes.Buffer
	if err := in.Copy().Write(&wire); err != nil {
		t.Fatal(err)
	}
	s := newStore(t)
	for n := range int64(2) {
		arrived := inWindow(0, exporter.KindCPU, in)
		if n > 0 {
			arrived = exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU, Start: epoch, Duration: step, Resource: checkout}, wire.Bytes())
		}
		export(t, s, arrived)
		out, err := s.Profile(store.Query{Kind: exporter.KindCPU, IDs: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := out.CheckValid(); err != nil {
			t.Fatal(err)
		}
		want := in.Copy()
		want.DurationNanos *= n + 1
		want.Scale(float64(n + 1))
		if diff := cmp.Diff(canonical(t, want), canonical(t, out)); diff != "" {
			t.Error(diff)
		}
		// The profile is the caller's: to spoil it spoils nothing.
		for _, f := range out.Function {
			f.Name = "spoilt"
		}
		out.Sample[0].Label["team"][0] = "spoilt"
		out.Sample[0].Location[0].Line[0].Line = -1
	}
	if sel, err := s.Select(store.Query{Kind: exporter.KindCPU}); err != nil || sel.SampleType != "samples" {
		t.Errorf("without a type: %+v, %v", sel, err)
	}
}

// sums returns the samples of p, those with equal stacks and labels summed.
func sums(p *profile.Profile) map[string][]int64 {
	values := make(map[string][]int64)
	for _, s := range p.Sample {
		var key strings.Builder
		fmt.Fprint(&key, s.Label, s.NumLabel, " ")
		for _, l := range s.Location {
			fmt.Fprint(&key, l.Address, ";")
		}
		sum := values[key.String()]
		if sum == nil {
			sum = make([]int64, len(s.Value))
			values[key.String()] = sum
		}
		for i, v := range s.Value {
			sum[i] += v
		}
	}
	return values
}

// canonical returns all that is in a profile, as it is written and read.
func canonical(t *testing.T, in *profile.Profile) []string {
	t.Helper()
	var b bytes.Buffer
	if err := in.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseUncompressed(b.Bytes())
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
	r := readRecording(t)
	for n := range 2 {
		export(t, s, r.replay(n), inWindow(n, exporter.KindCPU, cpuProfile(
			sample{"f", 1, labels("profile_id", "job 1", "team", "a")},
			sample{"f", 2, labels("profile_id", "job 2", "team", "a")},
			sample{"f", 4, labels("profile_id", "job 3", "team", "b")},
			sample{"f", 8, labels("trace_id", "no id", "ended_span_id", "00000000000000bb")},
		)))
	}
	for name, matchers := range map[string][]store.Matcher{
		"all":      nil,
		"by label": {matcher(t, "span_name", store.MatchNotEqual, "")},
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
			for _, id := range []string{"profile_id", "span_id", "trace_id", "ended_span_id"} {
				delete(s.Label, id)
			}
		}
		want := sums(whole)
		if diff := cmp.Diff(want, sums(p)); diff != "" {
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
