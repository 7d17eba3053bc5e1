// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

const directoryBytes = 8 << 20

// openStore returns a store with a directory, once it has read it.
func openStore(t *testing.T, dir string, opts ...store.Option) *store.Store {
	t.Helper()
	s := newStore(t, append([]store.Option{store.WithDirectory(dir, directoryBytes)}, opts...)...)
	t.Cleanup(func() { shutdown(t, s) })
	s.Restored()
	return s
}

func shutdown(t *testing.T, s *store.Store) {
	t.Helper()
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// endSpan records a span, and returns its id.
func endSpan(s *store.Store, name string, from, until float64, set func(trace.Span)) string {
	_, span := newTracerProvider(s).Tracer("").Start(context.Background(), name, at(from), trace.WithNewRoot())
	if set != nil {
		set(span)
	}
	span.End(at(until))
	return idOf(span)
}

func spanWithID(t *testing.T, s *store.Store, id string) store.Span {
	t.Helper()
	span, ok := s.Span(id)
	if !ok {
		t.Fatalf("there is no span %s", id)
	}
	return span
}

// ofSpan returns a sample of a span.
func ofSpan(stack string, count int64, id string) sample {
	return sample{stack, count, labels("profile_id", id, "span_id", id, "span_name", "GET /")}
}

// A process counts what it wrote. The next one counts what it restored, and nothing else.
func TestDirectoryStats(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "for us")
	first := openStore(t, dir)
	id := endSpan(first, "GET /", 0.1, 0.9, nil)
	export(t, first, inWindow(0, exporter.KindCPU, cpuProfile(ofSpan("main;slow", 7, id))))
	endSpan(first, "GET /", 1, 1.5, nil)
	export(t, first, inWindow(1, exporter.KindHeap, heapProfile(10)))
	shutdown(t, first)
	if s := first.Stats().Directory; s.FilesWritten < 3 || s.WriteFailures != 0 || s.Bytes == 0 || s.Path != dir || s.MaxBytes != directoryBytes {
		t.Errorf("of the first process: %+v", s)
	}
	reader, err := store.OpenDirectory(dir, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Export(t.Context(), inWindow(2, exporter.KindCPU, cpuProfile())); !errors.Is(err, exporter.ErrShutdown) || reader.Info().Lacks != store.LacksUpdates || !spanWithID(t, reader, id).Earlier {
		t.Errorf("a store of files: error %v, %+v", err, reader.Info())
	}
	for restart := range 2 { // from the files of one run, then of it and of a run without windows
		second := openStore(t, dir)
		stats := second.Stats()
		if d := stats.Directory; d.Spans != 2 || d.Windows != 2 || d.FilesUnreadable != 0 {
			t.Errorf("restart %d: %+v", restart, d)
		}
		stats.Directory, stats.Bytes, stats.MaxBytes = store.DirectoryStats{}, 0, 0
		if stats != (store.Stats{}) {
			t.Errorf("restart %d: the numbers of this process have those of an earlier one: %+v", restart, stats)
		}
		shutdown(t, second)
	}
}

// busyWindow returns a window of n samples, each in a span of its own. If id is not
// empty, the span with that id has 50 more.
func busyWindow(at, n int, id string) *exporter.Profile {
	var all []sample
	for i := range n {
		all = append(all, ofSpan(fmt.Sprint("main;work", i%50), 1, fmt.Sprintf("%016x", rand.Uint64())))
	}
	if id != "" {
		all = append(all, ofSpan("main;slow", 50, id))
	}
	return inWindow(at, exporter.KindCPU, cpuProfile(all...))
}

// The newest windows are restored, as many as have room.
func TestDirectoryRestoresNewest(t *testing.T) {
	dir := t.TempDir()
	first := newStore(t, store.WithDirectory(dir, 64<<20), store.WithMaxBytes(16<<20))
	const slowAt = 14 // in the newest third of the first segment
	slowest := endSpan(first, "GET /slow", slowAt+0.1, slowAt+0.9, nil)
	for n := range 52 {
		id := ""
		if n == slowAt {
			id = slowest
		}
		export(t, first, busyWindow(n, 4000, id))
		if err := first.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			endSpan(first, "GET /slow", float64(n)+0.2, float64(n)+0.3, nil)
		}
	}
	if n := first.Stats().WindowsEvicted; n > 0 {
		t.Fatalf("%d windows made room in memory: the test is about those of the next store", n)
	}
	shutdown(t, first)

	second := openStore(t, dir, store.WithMaxBytes(8<<20))
	d := second.Stats().Directory
	if d.Windows < 5 || d.WindowsLeftOut == 0 || int64(d.Windows)+d.WindowsLeftOut != 52 {
		t.Errorf("%d windows restored and %d left out, want some of 52, and all of the rest: %+v", d.Windows, d.WindowsLeftOut, d)
	}
	// Of a segment without room the newest windows are read. The slowest span in them stays, with
	// its samples.
	if s := spanWithID(t, second, slowest); s.SamplesHeld != 50 || s.Coverage != store.CoverageWhole || int64(d.Spans)+d.SpansLeftOut != 1+5*52 {
		t.Errorf("%+v, and %+v", s, d)
	}
	if windows := second.Windows(); windows[len(windows)-1].Start.Before(epoch.Add(51 * step)) {
		t.Errorf("the newest window is not restored: %v", windows[len(windows)-1])
	}
	if stats := second.Stats(); stats.Bytes > stats.MaxBytes || stats.WindowsEvicted != 0 {
		t.Errorf("%+v", stats)
	}
	// Restored windows are evicted for new ones, which is no loss.
	for n := 100; second.Stats().Directory.Windows == d.Windows; n++ {
		export(t, second, busyWindow(n, 4000, ""))
	}
	if n := second.Stats().WindowsEvicted; n != 0 {
		t.Errorf("%d windows of this process made room, want those of the earlier one", n)
	}
}

// The clock may be set back between two runs.
func TestDirectoryClockSetBack(t *testing.T) {
	dir := t.TempDir()
	first := openStore(t, dir)
	export(t, first, inWindow(1000, exporter.KindCPU, cpuProfile()), inWindow(1000, exporter.KindHeap, heapProfile(10)))
	shutdown(t, first)
	second := openStore(t, dir)
	id := endSpan(second, "GET /", 0.1, 0.9, nil)
	export(t, second, inWindow(0, exporter.KindCPU, cpuProfile(ofSpan("main;second", 1, id))), inWindow(0, exporter.KindHeap, heapProfile(5)))
	if s := spanWithID(t, second, id); !s.Complete || s.Coverage != store.CoverageWhole || s.Earlier {
		t.Errorf("%+v", s)
	}
	inUse := func(s *store.Store) int64 {
		sel, err := s.Select(store.Query{Kind: exporter.KindHeap, SampleType: "inuse_space"})
		if err != nil {
			t.Fatal(err)
		}
		return sel.Total
	}
	alone := newStore(t)
	export(t, alone, inWindow(0, exporter.KindHeap, heapProfile(5)))
	if got, want := inUse(second), inUse(alone); got != want {
		t.Errorf("live memory is %d, want %d, that of this process", got, want)
	}
	shutdown(t, second)
	third := openStore(t, dir)
	if got, want := inUse(third), inUse(alone); got != want {
		t.Errorf("live memory is %d, want %d, that of the last process", got, want)
	}
}

func TestDirectoryErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		dir      string
		maxBytes int64
		want     string
	}{
		{"profiles", 100, "store: WithDirectory: 100 bytes are too few for profiles: give it at least 4194304 (4 MiB)"},
		{file, 8 << 20, "store: "},
	} {
		if s, err := store.New(store.WithDirectory(test.dir, test.maxBytes)); err == nil || s != nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("WithDirectory(%q, %d): %v, want %s", test.dir, test.maxBytes, err, test.want)
		}
	}
}

// Where everything is switched off, the directory is left alone.
func TestDirectoryWhereDisabled(t *testing.T) {
	t.Setenv("SPANPROF_DISABLED", "true")
	dir := filepath.Join(t.TempDir(), "never made")
	s := newStore(t, store.WithDirectory(dir, directoryBytes))
	shutdown(t, s)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) || s.Stats().Directory != (store.DirectoryStats{}) {
		t.Errorf("%v, %+v", err, s.Stats().Directory)
	}
}
