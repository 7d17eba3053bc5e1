// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// bothForms asks one view for what q selects: as it is written, and as Profile has it when
// it was written and read.
func bothForms(t *testing.T, s *store.Store, q store.Query) (written, built *profile.Profile, encoded []byte) {
	t.Helper()
	v, err := s.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	p, err := v.(store.Encoder).Pprof(q)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	encoded = bytes.Clone(b.Bytes())
	if written, err = profile.Parse(&b); err != nil {
		t.Fatal(err)
	}
	if len(written.Sample) != p.Samples() {
		t.Errorf("%d samples are written, %d are said", len(written.Sample), p.Samples())
	}
	if built, err = v.Profile(q); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := built.Write(&b); err != nil {
		t.Fatal(err)
	}
	if built, err = profile.Parse(&b); err != nil {
		t.Fatal(err)
	}
	return written, built, encoded
}

// everything writes out all that is in a profile that was read, but for the IDs of what
// samples refer to.
func everything(p *profile.Profile) []string {
	lines := []string{fmt.Sprint(p.TimeNanos, p.DurationNanos, *p.PeriodType, p.Period, p.DefaultSampleType, p.Comments, p.DropFrames, p.KeepFrames)}
	for _, t := range p.SampleType {
		lines = append(lines, fmt.Sprint(*t))
	}
	mapping := func(m *profile.Mapping) string {
		if m == nil {
			return "no mapping"
		}
		return fmt.Sprint(*m)
	}
	for _, m := range p.Mapping {
		lines = append(lines, mapping(m))
	}
	for _, s := range p.Sample {
		lines = append(lines, fmt.Sprint(s.Value, s.Label, s.NumLabel, s.NumUnit))
		for _, l := range s.Location {
			lines = append(lines, fmt.Sprintf(" %#x %v %s", l.Address, l.IsFolded, mapping(l.Mapping)))
			for _, line := range l.Line {
				f := *line.Function
				f.ID = 0
				lines = append(lines, fmt.Sprint("  ", f, line.Line, line.Column))
			}
		}
	}
	return lines
}

// What is written says what Profile says, sample by sample.
func TestPprofIsProfile(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	app := &profile.Mapping{ID: 1, Start: 0x400000, Limit: 0x800000, Offset: 0x1000, File: "/bin/app", BuildID: "b1", HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}
	libc := &profile.Mapping{ID: 2, Start: 0x7f0000, Limit: 0x7f8000, File: "/lib/libc.so.6", BuildID: "b2"}
	unused := &profile.Mapping{ID: 3, Start: 0x7fa000, Limit: 0x7fb000, File: "[vdso]"}
	leaf := &profile.Function{ID: 1, Name: "app.leaf", SystemName: "app.leaf", Filename: "leaf.go", StartLine: 10}
	inlined := &profile.Function{ID: 2, Name: "app.inlined", SystemName: "_inlined", Filename: "leaf.go", StartLine: 20}
	top := &profile.Function{ID: 3, Name: "main.main", Filename: "main.go"}
	l1 := &profile.Location{ID: 1, Mapping: app, Address: 0x400010, Line: []profile.Line{{Function: leaf, Line: 11, Column: 4}, {Function: inlined, Line: 21}}}
	l2 := &profile.Location{ID: 2, Mapping: app, Address: 0x400020, Line: []profile.Line{{Function: top, Line: -1}}, IsFolded: true}
	l3 := &profile.Location{ID: 3, Mapping: libc, Address: 1<<64 - 1}
	l4 := &profile.Location{ID: 4}
	ids := func(kv ...string) map[string][]string {
		m := map[string][]string{"span_name": {"GET /"}, "team": {"b", "a"}, "none": {""}}
		for key, value := range labels(kv...) {
			m[key] = []string{value}
		}
		return m
	}
	in := &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		DefaultSampleType: "cpu",
		Sample: []*profile.Sample{
			{Location: []*profile.Location{l1, l2}, Value: []int64{1, 10}, Label: ids("profile_id", "00000000000000aa", "span_id", "00000000000000aa", "trace_id", "t")},
			{Location: []*profile.Location{l1, l2}, Value: []int64{1, 10}, Label: ids("profile_id", "00000000000000aa", "span_id", "00000000000000aa", "trace_id", "000000000000000000000000000000a1")},
			{Location: []*profile.Location{l3, l2}, Value: []int64{2, 20}, Label: ids("profile_id", "00000000000000aa")},
			{Location: []*profile.Location{l3, l2}, Value: []int64{2, 20}, Label: ids("span_id", "00000000000000aa", "ended_span_id", "00000000000000bb")},
			{Location: []*profile.Location{l3, l2}, Value: []int64{4, 20}, Label: ids("span_id", "00000000000000aa", "profile_id", "job 7", "ended_span_id", "no id")},
			{Location: []*profile.Location{l2, l2, l2}, Value: []int64{-2, 0}},
			{Value: []int64{5, 0}},
			{Location: []*profile.Location{l1}, Value: []int64{0, 0}},
			{
				Location: []*profile.Location{l4}, Value: []int64{3, 30},
				NumLabel: map[string][]int64{"bytes": {8, 16}, "n": {-1}, "zero": {0}}, NumUnit: map[string][]string{"bytes": {"bytes", "kb"}, "zero": {"s"}},
			},
		},
		Mapping:    []*profile.Mapping{app, libc, unused},
		Location:   []*profile.Location{l1, l2, l3, l4},
		Function:   []*profile.Function{leaf, inlined, top},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     10,
	}
	s := newStore(t)
	export(t, s, inWindow(0, exporter.KindCPU, in), inWindow(1, exporter.KindCPU, in), inWindow(0, exporter.KindHeap, heapProfile(50)), inWindow(3, exporter.KindHeap, heapProfile(40)))
	g := newGenerator()
	for n := range 3 {
		export(t, s, inWindow(n, exporter.KindCPU, g.profile(500)))
	}
	wall := cpuProfile(sample{"main;f", 3, nil})
	wall.Comments = []string{"looks: 100 of 10ms"}
	export(t, s, inWindow(0, exporter.KindWall, wall))
	for name, q := range map[string]store.Query{
		"all":             {Kind: exporter.KindCPU},
		"type":            {Kind: exporter.KindCPU, SampleType: "samples"},
		"without ids":     {Kind: exporter.KindCPU, WithoutIDs: true},
		"one span":        {Kind: exporter.KindCPU, Matchers: []store.Matcher{matcher(t, "span_id", store.MatchEqual, "00000000000000aa")}},
		"after its end":   {Kind: exporter.KindCPU, Matchers: []store.Matcher{matcher(t, "ended_span_id", store.MatchEqual, "00000000000000bb")}},
		"part of a time":  {Kind: exporter.KindCPU, From: epoch.Add(step), Until: epoch.Add(2 * step)},
		"moments":         {Kind: exporter.KindHeap},
		"comments":        {Kind: exporter.KindWall},
		"nothing":         {Kind: exporter.KindCPU, Matchers: []store.Matcher{matcher(t, "team", store.MatchEqual, "c")}},
		"no profile":      {Kind: exporter.KindMutex},
		"at most so many": {Kind: exporter.KindCPU, MaxSamples: 5000},
	} {
		written, built, _ := bothForms(t, s, q)
		if want, got := everything(built), everything(written); !slices.Equal(want, got) {
			t.Errorf("%s: %s", name, cmp.Diff(want, got))
		}
	}
	for _, bound := range []int{1, 1000} {
		q := store.Query{Kind: exporter.KindCPU, MaxSamples: bound}
		v, err := s.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.(store.Encoder).Pprof(q); !errors.Is(err, store.ErrTooManySamples) {
			t.Errorf("at most %d samples: %v", bound, err)
		}
		v.Close()
	}
}

func TestPprofOfAnotherTime(t *testing.T) {
	s := newStore(t)
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(sample{"main;f", 3, nil})))
	v, err := s.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	p, err := v.(store.Encoder).Pprof(store.Query{Kind: exporter.KindCPU})
	if err != nil {
		t.Fatal(err)
	}
	if !p.Start.Equal(epoch) || p.Duration != step {
		t.Error(p.Start, p.Duration)
	}
	p.Start, p.Duration = epoch.Add(time.Second), time.Millisecond
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	read, err := profile.Parse(&b)
	if err != nil || read.TimeNanos != p.Start.UnixNano() || read.DurationNanos != 1e6 {
		t.Error(read, err)
	}
}

// A writer that fails, and a client that goes away, end the profile.
func TestPprofEnds(t *testing.T) {
	s := newStore(t)
	export(t, s, inWindow(0, exporter.KindCPU, newGenerator().profile(2000)))
	ctx, cancel := context.WithCancel(t.Context())
	v, err := s.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	p, err := v.(store.Encoder).Pprof(store.Query{Kind: exporter.KindCPU})
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("full")
	if err := p.Write(failing{full}); !errors.Is(err, full) {
		t.Error(err)
	}
	cancel()
	if err := p.Write(io.Discard); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (w failing) Write([]byte) (int, error) { return 0, w.err }
