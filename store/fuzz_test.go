// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
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
			sel, err := s.Select(Query{Kind: exporter.KindCPU, SampleType: st.Type})
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
			if st.Type[:min(6, len(st.Type))] != "inuse_" && sel.Total != want {
				t.Errorf("%s: got %d, want %d", st.Type, sel.Total, want)
			}
		}
		out, err := s.Profile(Query{Kind: exporter.KindCPU})
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
		for _, span := range s.Spans(SpanQuery{Order: MostCPU}) {
			if got, ok := s.Span(span.ProfileID); !ok || got != span {
				t.Errorf("listed %+v, found %+v", span, got)
			}
		}
		for range 2 {
			s.evictOldest()
		}
		if n := s.tables.bytes(); n != 0 || len(s.index.kept) != 0 {
			t.Errorf("%d bytes and %d windows are left", n, len(s.index.kept))
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
