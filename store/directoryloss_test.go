// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// runFiles returns the files of all runs that match.
func runFiles(t *testing.T, dir, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*-run-*", pattern))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// removeWindows leaves what outlives others alone.
func removeWindows(t *testing.T, dir string) {
	t.Helper()
	for _, file := range append(runFiles(t, dir, "*.pprof.gz"), runFiles(t, dir, "*-spans.jsonl.gz")...) {
		if strings.HasSuffix(file, "-kept-spans.jsonl.gz") {
			continue
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// quietErrors leaves reports out of the log of a test.
func quietErrors(t *testing.T) {
	t.Helper()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
}

// The spans that outlive others stay on the disk while a process has no room for them, and
// are there for the next one that has.
func TestDirectoryKeepsSpansWithoutRoom(t *testing.T) {
	const names = 100
	for _, perName := range []int{2, 20} { // without room for the names, and for the records
		t.Run(strconv.Itoa(perName), func(t *testing.T) {
			dir := t.TempDir()
			first := openStore(t, dir)
			var ids []string
			for name := range names {
				for n := range perName {
					ids = append(ids, endSpan(first, fmt.Sprint("GET /", name), 0.1, 0.2+0.01*float64(n), nil))
				}
			}
			export(t, first, inWindow(0, exporter.KindCPU, cpuProfile(sample{"main", 1, nil})))
			shutdown(t, first)
			removeWindows(t, dir)
			for n := range 2 {
				small := openStore(t, dir, store.WithMaxBytes(2<<20))
				for range 10 {
					endSpan(small, "GET /small", 0.1, 0.9, nil)
				}
				export(t, small, inWindow(n, exporter.KindCPU, cpuProfile(sample{"main", 1, nil})))
				shutdown(t, small)
			}
			for range 2 { // from the files of the first process, then from one of all
				s := openStore(t, dir)
				for _, id := range ids {
					if span := spanWithID(t, s, id); span.Earlier == nil {
						t.Errorf("%+v", span)
					}
				}
				shutdown(t, s)
				if files := runFiles(t, dir, "*-kept-spans.jsonl.gz"); len(files) != 1 {
					t.Errorf("after a process with room for all, spans are kept in %q, want one file", files)
				}
				removeWindows(t, dir)
			}
		})
	}
}

// A panic while something of a file is taken in harms that file alone: it is set aside.
func TestDirectoryContainsPanics(t *testing.T) {
	origin := t.TempDir()
	first := openStore(t, origin)
	id := endSpan(first, "GET /slow", 0.1, 0.9, nil)
	export(t, first, inWindow(0, exporter.KindCPU, cpuProfile(ofSpan("main;slow", 7, id))), inWindow(0, exporter.KindHeap, heapProfile(10)))
	shutdown(t, first)
	// Samples that outlive their window.
	cpu := runFiles(t, origin, "*-cpu.pprof.gz")[0]
	data, err := os.ReadFile(cpu)
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(filepath.Dir(cpu), "kept")
	if err := errors.Join(os.Mkdir(kept, 0o700), os.WriteFile(filepath.Join(kept, filepath.Base(cpu)), data, 0o600)); err != nil {
		t.Fatal(err)
	}
	quietErrors(t)
	for _, test := range []struct {
		name     string
		broken   func(*store.Store) func()
		without  string // files that are removed before
		setAside int64
	}{
		{"windows", (*store.Store).BreakTables, "", 2},
		{"kept samples", (*store.Store).BreakTables, "*.pprof.gz", 1},
		{"spans", (*store.Store).BreakProcesses, "", 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(origin)); err != nil {
				t.Fatal(err)
			}
			if test.without != "" {
				for _, file := range runFiles(t, dir, test.without) {
					if err := os.Remove(file); err != nil {
						t.Fatal(err)
					}
				}
			}
			var mend func()
			s, err := store.RestoreHere(dir, func(s *store.Store) { mend = test.broken(s) }, func(*store.Store) { mend() })
			if err != nil {
				t.Fatal(err)
			}
			aside := append(runFiles(t, dir, "*.damaged"), runFiles(t, dir, filepath.Join("kept", "*.damaged"))...)
			if d := s.Stats().Directory; d.FilesSetAside != test.setAside || len(aside) != int(test.setAside) || d.Restoring {
				t.Errorf("set aside are %q, want %d: %+v", aside, test.setAside, d)
			}
			// The locks are free, and what is left opens.
			next := openStore(t, dir)
			if d := next.Stats().Directory; d.FilesSetAside+d.FilesUnreadable != 0 {
				t.Errorf("%+v", d)
			}
		})
	}
}

// The page hears that all is read.
func TestDirectoryRestoredIsAChange(t *testing.T) {
	var before uint64
	s, err := store.RestoreHere(t.TempDir(), func(s *store.Store) { before = s.Generation() }, func(*store.Store) {})
	if err != nil {
		t.Fatal(err)
	}
	if s.Generation() == before || s.Stats().Directory.Restoring {
		t.Errorf("generation %d before and %d after, %+v", before, s.Generation(), s.Stats().Directory)
	}
}

// Counts that could not be written are written later; too many are counted as lost.
func TestDirectoryWritesCountsAgain(t *testing.T) {
	quietErrors(t)
	dir := t.TempDir()
	s, err := store.RestoreHere(dir, func(s *store.Store) {
		run := filepath.Dir(runFiles(t, dir, "process.json.gz")[0])
		away := filepath.Join(dir, "away")
		if err := os.Rename(run, away); err != nil {
			t.Fatal(err)
		}
		if n := s.WriteCounts(1, "a"); n != 1 {
			t.Errorf("after a failure %d wait, want 1", n)
		}
		if n := s.WriteCounts(1, numbered("b", 99)...); n != 64 {
			t.Errorf("of 100 %d wait, want 64", n)
		}
		if err := os.Rename(away, run); err != nil {
			t.Fatal(err)
		}
		if n := s.WriteCounts(0); n != 0 || len(runFiles(t, dir, "*-spans.jsonl.gz")) != 1 {
			t.Errorf("%d wait, files %q", n, runFiles(t, dir, "*-spans.jsonl.gz"))
		}
	}, func(*store.Store) {})
	if err != nil {
		t.Fatal(err)
	}
	if d := s.Stats().Directory; d.WriteFailures != 2+36 || d.FilesWritten != 1 {
		t.Errorf("%+v, want two files and 36 windows not written", d)
	}
}

// Windows keep their counts by name where the spans that were counted find no room.
func TestDirectoryCountsOfSpansWithoutRoom(t *testing.T) {
	const windows, each = 6, 3000
	dir := t.TempDir()
	first := openStore(t, dir)
	tracer := newTracerProvider(first).Tracer("")
	for n := range windows {
		for i := range each {
			_, span := tracer.Start(t.Context(), fmt.Sprint("GET /", n), at(float64(n)), trace.WithNewRoot())
			if i%2 == 0 {
				span.SetStatus(codes.Error, "")
			}
			span.End(at(float64(n) + 0.5))
		}
		export(t, first, inWindow(n, exporter.KindCPU, cpuProfile(sample{"main", 1, nil})))
		if err := first.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := fmt.Sprint(first.NameTotals())
	shutdown(t, first)
	small := openStore(t, dir, store.WithMaxBytes(2<<20))
	d := small.Stats().Directory
	if d.Windows != windows || d.Spans >= windows*each/2 {
		t.Fatalf("%+v: the test wants all windows restored and room for few of the spans", d)
	}
	if d.WindowsLeftOut != 0 || d.SpanFilesLeftOut < windows/2 || d.NamesLeftOut != 0 {
		t.Errorf("%+v, want most of the files of spans left out, and nothing else", d)
	}
	if got := fmt.Sprint(small.NameTotals()); got != want {
		t.Errorf("counts by name\n%s\nwant\n%s", got, want)
	}
}

// numbered returns n names.
func numbered(name string, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint(name, i))
	}
	return list
}

// Of a window all counts by name wait for room on the disk, or none.
func TestDirectoryKeepsCountsOfWholeWindows(t *testing.T) {
	const names, windows = 1100, 20
	quietErrors(t)
	dir := t.TempDir()
	s, err := store.RestoreHere(dir, func(s *store.Store) {
		run := filepath.Dir(runFiles(t, dir, "process.json.gz")[0])
		away := filepath.Join(dir, "away")
		if err := os.Rename(run, away); err != nil {
			t.Fatal(err)
		}
		s.WriteCounts(names, numbered("w", windows)...)
		if err := os.Rename(away, run); err != nil {
			t.Fatal(err)
		}
		if n := s.WriteCounts(0); n != 0 {
			t.Errorf("%d wait", n)
		}
	}, func(*store.Store) {})
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]int{}
	for _, file := range runFiles(t, dir, "*-spans.jsonl.gz") {
		for window, n := range countsIn(t, file) {
			written[window] += n
		}
	}
	for window, n := range written {
		if n != names {
			t.Errorf("%s has %d names, want %d or none", window, n, names)
		}
	}
	// A file that could not be written, and the windows that are left out.
	missed := s.Stats().Directory.WriteFailures - 1
	if len(written) == 0 || written[fmt.Sprint("w", windows-1)] == 0 || int64(len(written))+missed != windows {
		t.Errorf("%d windows written, %d said to be missing, of %d: %v", len(written), missed, windows, written)
	}
}

// countsIn returns the number of names of each window that a file of spans has counts of.
func countsIn(t *testing.T, file string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var first struct {
		Windows []struct {
			File  string
			Names []struct{ Name string }
		}
	}
	if err := json.NewDecoder(z).Decode(&first); err != nil {
		t.Fatal(err)
	}
	names := map[string]int{}
	for _, w := range first.Windows {
		names[w.File] += len(w.Names)
	}
	return names
}

// Spans that were being written when something panicked are written again.
func TestDirectoryWritesSpansAfterPanic(t *testing.T) {
	quietErrors(t)
	dir := t.TempDir()
	var ids []string
	_, err := store.RestoreHere(dir, func(s *store.Store) {
		for n := range 200 { // most of them outlive no others, and are in one file alone
			ids = append(ids, endSpan(s, "GET /", 0.1, 0.2+0.001*float64(n), nil))
		}
		s.WithoutJournal(t)
	}, func(*store.Store) {})
	if err != nil {
		t.Fatal(err)
	}
	next := openStore(t, dir)
	for _, id := range ids {
		if span := spanWithID(t, next, id); span.Earlier == nil || span.Name != "GET /" {
			t.Errorf("%+v", span)
		}
	}
}
