// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// TestGeneration changes with windows, ended spans, refused profiles, and the first span that
// runs. Nothing else changes it.
func TestGeneration(t *testing.T) {
	s := newStore(t)
	tracer := spanprof.NewTracerProvider(newTracerProvider(s)).Tracer("")
	last := s.Info().Generation
	check := func(what string, moves bool) {
		t.Helper()
		got := s.Info().Generation
		if moves != (got != last) {
			t.Errorf("%s: generation %d, before %d", what, got, last)
		}
		last = got
	}
	_, span := tracer.Start(t.Context(), "GET /")
	check("start after nothing ran", true)
	_, other := tracer.Start(t.Context(), "GET /")
	check("start beside another", false)
	other.End()
	check("end beside another", true)
	span.End()
	check("end", true)
	s.Spans(store.SpanQuery{})
	s.NameTotals()
	selectCPU(t, s)
	check("queries", false)
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(sample{"f", 1, nil})))
	check("window", true)
	if err := s.Export(t.Context(), inWindow(1, exporter.KindCPU, nil)); err == nil {
		t.Error("no error")
	}
	check("refused window", true)
}

// A change of the directory's Stats changes the generation.
func TestGenerationOfDirectory(t *testing.T) {
	s := openStore(t, t.TempDir())
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(sample{"f", 1, nil})))
	if err := s.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	view := func() (uint64, store.Stats) {
		info := openView(t, s).Info()
		return info.Generation, info.Stats
	}
	endSpan(s, "GET /", 0.1, 0.2, nil)
	before, old := view()
	if err := s.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, stats := view()
	if stats.Directory.FilesWritten == old.Directory.FilesWritten || before == after {
		t.Errorf("generation %d before a file was written and %d after, %+v", before, after, stats.Directory)
	}
}
