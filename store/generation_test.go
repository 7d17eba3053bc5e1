// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// TestGeneration changes with refused profiles, and with the first span that runs. Other spans that
// start and queries do not change it.
func TestGeneration(t *testing.T) {
	s := newStore(t)
	tracer := spanprof.NewTracerProvider(newTracerProvider(s)).Tracer("")
	first := s.Info().Generation
	_, span := tracer.Start(t.Context(), "GET /")
	defer span.End()
	second := s.Info().Generation
	_, other := tracer.Start(t.Context(), "GET /")
	defer other.End()
	s.Spans(store.SpanQuery{})
	s.NameTotals()
	selectCPU(t, s)
	third := s.Info().Generation
	if err := s.Export(t.Context(), inWindow(1, exporter.KindCPU, nil)); err == nil {
		t.Error("no error")
	}
	if fourth := s.Info().Generation; second == first || third != second || fourth == third {
		t.Errorf("generations %d, %d, %d, %d", first, second, third, fourth)
	}
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
