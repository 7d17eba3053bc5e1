// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spanprof/spanprof/store/internal/journal"
)

// Processes that start at the same time all find what earlier ones have left, and none
// removes the directory that another one has just made.
func TestStartsAtTheSameTime(t *testing.T) {
	const starts = 8
	for round := range 10 {
		dir := t.TempDir()
		first := open(t, dir, maxBytes)
		write(t, first, start, 1)
		closed(t, first)
		closed(t, open(t, dir, maxBytes)) // leaves nothing
		var all sync.WaitGroup
		for i := range starts {
			all.Go(func() {
				j, err := journal.Open(dir, journal.Config{MaxBytes: maxBytes})
				if err != nil {
					t.Error(err)
					return
				}
				if files := j.Files(); len(files) < 1 || files[len(files)-1].Run.Number != 1 {
					t.Errorf("round %d: files %v, want that of the first run", round, files)
				}
				if _, err := j.Profile(window(start.Add(time.Duration(i+1)*time.Minute), 1)); err != nil {
					t.Error(err)
				}
				if err := j.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		last := open(t, dir, maxBytes)
		if got := read(last); len(got.windows) != 1+starts || got.damaged != nil {
			t.Errorf("round %d: windows %q, want %d; %q", round, got.windows, 1+starts, got.damaged)
		}
		closed(t, last)
		if t.Failed() {
			return
		}
	}
}

// A run that cannot be read is left out and said; only a directory that cannot be written
// fails the start.
func TestRunThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, maxBytes)
	write(t, first, start, 1)
	closed(t, first)
	second := open(t, dir, maxBytes)
	write(t, second, start.Add(time.Minute), 2)
	closed(t, second)
	run := filepath.Dir(glob(t, dir, "*.pprof.gz")[0])
	lock := filepath.Join(run, "spanprof.lock")
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(lock, 0o700); err != nil { // which nobody can lock
		t.Fatal(err)
	}
	wantLeftOut(t, dir, run)
}

// wantLeftOut opens a directory of two runs of which one cannot be read.
func wantLeftOut(t *testing.T, dir, run string) {
	t.Helper()
	third := open(t, dir, maxBytes)
	got := read(third)
	if len(got.windows) != 1 || !strings.HasPrefix(got.windows[0], "cpu 12:01:00") || len(got.damaged) != 1 || !strings.HasPrefix(got.damaged[0], run+" is left out: ") {
		t.Errorf("%+v", got)
	}
	write(t, third, start.Add(time.Hour), 3)
	if s := third.Stats(); s.Unreadable != 1 || s.SetAside != 0 || s.Failed != 0 {
		t.Errorf("%+v", s)
	}
	closed(t, third)
	if runs := third.Earlier(); slices.ContainsFunc(runs, func(r *journal.Run) bool { return r.Number == 1 }) {
		t.Errorf("runs %v", runs)
	}
}
