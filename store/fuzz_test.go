// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// FuzzExport takes any bytes in, and holds what the store answers against what
// pprof's own parser finds in them.
func FuzzExport(f *testing.F) {
	ids := labels("profile_id", "00000000000000aa", "span_id", "00000000000000bb", "span_name", "x")
	for _, p := range []*profile.Profile{
		{},
		cpuProfile(sample{"main;f", 1, ids}, sample{"main;f", 2, ids}, sample{"main;g", 3, nil}),
		newGenerator().profile(3).Compact(),
	} {
		var b bytes.Buffer
		if err := p.WriteUncompressed(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newStore(t)
		p := exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU, Start: epoch, Duration: step}, data)
		parsed, parseErr := p.Parsed()
		for range 2 {
			if err := s.Export(t.Context(), p); (err == nil) != (parseErr == nil) {
				t.Fatalf("Export: %v, parser: %v", err, parseErr)
			}
		}
		if parseErr != nil {
			return
		}
		for i, st := range parsed.SampleType {
			sel, err := s.Select(store.Query{Kind: exporter.KindCPU, SampleType: st.Type})
			if err != nil {
				t.Fatal(err)
			}
			// The empty name asks for the default type, and a name with
			// two units for the first.
			if sel.SampleType != st.Type || sel.Unit != st.Unit || firstType(parsed, st) != i {
				continue
			}
			var want int64
			for _, sample := range parsed.Sample {
				want += 2 * sample.Value[i]
			}
			if !strings.HasPrefix(st.Type, "inuse_") && st.Type != "goroutine" && sel.Total != want {
				t.Errorf("%s: got %d, want %d", st.Type, sel.Total, want)
			}
		}
		out, err := s.Profile(store.Query{Kind: exporter.KindCPU})
		if err != nil {
			t.Fatal(err)
		}
		if err := out.CheckValid(); err != nil {
			t.Error(err)
		}
		var b bytes.Buffer
		if err := out.WriteUncompressed(&b); err != nil {
			t.Error(err)
		}
		if _, err := profile.ParseData(b.Bytes()); err != nil {
			t.Error(err)
		}
		all, err := s.Select(store.Query{Kind: exporter.KindCPU})
		if err != nil {
			t.Fatal(err)
		}
		timeline, err := s.Timeline(store.Query{Kind: exporter.KindCPU}, 2)
		if err != nil {
			t.Fatal(err)
		}
		var total int64
		for _, bucket := range timeline.Buckets {
			total += bucket.Rest
			for _, value := range bucket.Values {
				total += value
			}
		}
		if total != all.Total {
			t.Errorf("timeline: %d, total %d", total, all.Total)
		}
		var samples int64
		for _, kind := range s.Kinds(store.Query{}) {
			samples += kind.Samples
		}
		for _, window := range s.Windows(store.WindowQuery{}) {
			samples -= window.Samples
		}
		if samples != 0 {
			t.Errorf("kinds have %d samples more than windows", samples)
		}
		s.CheckParts(t)
		for _, span := range s.Spans(store.SpanQuery{Order: store.MostCPU}) {
			if got, ok := s.Span(span.ProfileID); !ok || !reflect.DeepEqual(got, span) {
				t.Errorf("listed %+v, found %+v", span, got)
			}
		}
		for range 2 {
			s.EvictOldest()
		}
		if n := s.Look().Tables; n != 0 || s.Look().Kept != 0 {
			t.Errorf("%d bytes and %d windows are left", n, s.Look().Kept)
		}
	})
}

func firstType(p *profile.Profile, t *profile.ValueType) int {
	for i, st := range p.SampleType {
		if st.Type == t.Type && st.Unit == t.Unit {
			return i
		}
	}
	return -1
}
