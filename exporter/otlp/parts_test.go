// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/report"
)

// Pyroscope makes a pprof profile of each type of sample in a message. It takes 2 MB at once.
func TestPartsFitPyroscope(t *testing.T) {
	t.Cleanup(report.Synchronous(new(errorLog).Handle))
	for _, types := range []int{1, 4} {
		p := &profile.Profile{}
		for i := range types {
			p.SampleType = append(p.SampleType, &profile.ValueType{Type: fmt.Sprintf("type%d", i), Unit: "bytes"})
		}
		for i := range 3000 {
			f := &profile.Function{ID: uint64(i + 1), Name: fmt.Sprintf("example.com/shop/internal/pkg%d.(*Service).Method%d", i/100, i)}
			p.Function = append(p.Function, f)
			p.Location = append(p.Location, &profile.Location{ID: uint64(i + 1), Address: uint64(i + 1), Line: []profile.Line{{Function: f, Line: 1}}})
		}
		// Many spans on few stacks: a message holds each stack once, pprof does not.
		for i := range 12_000 {
			s := &profile.Sample{Value: make([]int64, types), Label: map[string][]string{"trace_id": {fmt.Sprintf("%032x", i+1)}, "span_id": {fmt.Sprintf("%016x", i+1)}}}
			for d := range 80 {
				s.Location = append(s.Location, p.Location[(i/40*10+d)%len(p.Location)])
			}
			s.Value[0] = 1
			p.Sample = append(p.Sample, s)
		}
		b := &backend{t: t}
		e := newExporter(t, b)
		w := exporter.Window{Kind: exporter.KindHeap, Start: time.Now().Add(-time.Second), Duration: time.Second}
		if err := e.Export(t.Context(), exporter.NewParsedProfile(w, p)); err != nil {
			t.Fatal(err)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		_, messages := b.received()
		samples := 0
		for _, m := range messages {
			profiles := m.ResourceProfiles[0].ScopeProfiles[0].Profiles
			if len(profiles) != types {
				t.Errorf("%d profiles, want %d", len(profiles), types)
			}
			samples += len(profiles[0].Samples)
		}
		// The pprof form has about 240 bytes a sample.
		if want := types * len(p.Sample) * 240 / 2_000_000; len(messages) < want {
			t.Errorf("%d types: %d messages, want at least %d", types, len(messages), want)
		}
		if samples != len(p.Sample) {
			t.Errorf("%d types: %d samples arrived in %d messages, want %d", types, samples, len(messages), len(p.Sample))
		}
	}
}

// A window without samples is counted apart, and nothing of it is sent.
func TestEmptyProfile(t *testing.T) {
	b := &backend{t: t}
	e := newExporter(t, b)
	idle := exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: time.Now()}, &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}},
	})
	if err := e.Export(t.Context(), idle); err != nil {
		t.Error(err)
	}
	export(t, e, 1)
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if requests, _ := b.received(); len(requests) != 1 || e.Status().Exported != 2 {
		t.Errorf("%d requests, %+v, want one request", len(requests), e.Status())
	}
}
