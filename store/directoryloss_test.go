// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"

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
		if n := s.WriteCounts("a"); n != 1 {
			t.Errorf("after a failure %d wait, want 1", n)
		}
		if n := s.WriteCounts(slices.Repeat([]string{"b"}, 99)...); n != 64 {
			t.Errorf("of 100 %d wait, want 64", n)
		}
		if err := os.Rename(away, run); err != nil {
			t.Fatal(err)
		}
		if n := s.WriteCounts(); n != 0 || len(runFiles(t, dir, "*-spans.jsonl.gz")) != 1 {
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
