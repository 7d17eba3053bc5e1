// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/ident"
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
			if !(valueType{name: st.Type}).momentary() && sel.Total != want {
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
		all, err := s.Select(Query{Kind: exporter.KindCPU})
		if err != nil {
			t.Fatal(err)
		}
		timeline, err := s.Timeline(Query{Kind: exporter.KindCPU}, 2)
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
		for _, kind := range s.Kinds(Query{}) {
			samples += kind.Samples
		}
		for _, window := range s.Windows(WindowQuery{}) {
			samples -= window.Samples
		}
		if samples != 0 {
			t.Errorf("kinds have %d samples more than windows", samples)
		}
		checkParts(t, s)
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

// checkParts cuts a window into two parts, which say what the window says.
func checkParts(t *testing.T, s *Store) {
	w := s.index.windows[0]
	var halves [2][]int
	for i := range w.groups {
		halves[i%2] = append(halves[i%2], i)
	}
	for _, half := range halves {
		part := w.part(half)
		for i, index := range half {
			got, want := group{part, i}, group{w, index}
			if got.profileID() != want.profileID() || got.spanID() != want.spanID() || got.traceID() != want.traceID() || got.labels() != want.labels() {
				t.Fatalf("group %d has other labels", index)
			}
			first, last := got.bounds()
			from, to := want.bounds()
			if last-first != to-from || part.isLoose(i) != w.isLoose(index) {
				t.Fatalf("group %d has %d samples, want %d", index, last-first, to-from)
			}
			for j := range to - from {
				if part.frames[first+j] != w.frames[from+j] {
					t.Fatalf("group %d has another stack", index)
				}
				for column := range w.types {
					if part.value(first+j, column) != w.value(from+j, column) {
						t.Fatalf("group %d has other values", index)
					}
				}
			}
			for _, id := range []string{want.profileID(), want.spanID()} {
				if id != "" && !slices.Contains(part.appendGroups(nil, id, ident.ParseKey(id)), got) {
					t.Fatalf("group %d is not found by %q", index, id)
				}
			}
		}
	}
}

func firstType(p *profile.Profile, t *profile.ValueType) int {
	for i, st := range p.SampleType {
		if st.Type == t.Type && st.Unit == t.Unit {
			return i
		}
	}
	return -1
}
