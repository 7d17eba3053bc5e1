// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package journal_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/files/filestest"
	"github.com/spanprof/spanprof/store/internal/journal"
)

// Pipes, devices, links and a file of 8 GiB in place of a run's files: each is skipped,
// counted and reported, and the rest is read.
func TestOddFiles(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, maxBytes)
	write(t, first, start, 1)
	closed(t, first)
	run := filepath.Dir(glob(t, dir, "*.pprof.gz")[0])
	const stamp = "20261101T000000.000000000Z-"
	filestest.MakeOdd(t, dir, stamp+"run-000000-", "") // its directory is a run without files
	filestest.MakeOdd(t, run, stamp, "-cpu.pprof.gz")
	process, sparse := filepath.Join(run, "process.json.gz"), filepath.Join(run, stamp+"spans.jsonl.gz")
	if err := os.Remove(process); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(process, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sparse, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, 8<<30); err != nil {
		t.Fatal(err)
	}
	const (
		runs       = filestest.Odd // three, and the file with a long name
		inRun      = filestest.Odd
		unreadable = runs + inRun + 2 // process and sparse
	)
	check := func(j *journal.Journal) {
		t.Helper()
		got := read(j)
		if len(got.windows) != 1 || !strings.HasPrefix(got.windows[0], "cpu 12:00:00") {
			t.Errorf("windows %q, want the one of the first run", got.windows)
		}
		if s := j.Stats(); s.Unreadable != unreadable {
			t.Errorf("got %+v, want %d unreadable", s, unreadable)
		}
		all := strings.Join(got.damaged, "\n")
		for _, want := range []string{"it is a pipe", "it has 8589934592 bytes", "it is not a directory", "and 3 more like it", "xxx-cpu.pprof.gz is left out"} {
			if !strings.Contains(all, want) {
				t.Errorf("nothing reports %q:\n%s", want, all)
			}
		}
	}
	reader, err := journal.Read(dir, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	check(reader)
	second := open(t, dir, maxBytes)
	check(second)
	write(t, second, start.Add(time.Hour), 2) // the sparse file is among the oldest
	closed(t, second)
	if _, err := os.Lstat(sparse); !os.IsNotExist(err) {
		t.Errorf("a file beyond the bound stays: %v", err)
	}
}

// Links do not lead out of a run: files elsewhere are not read, counted or removed.
func TestLinkInPlaceOfADirectory(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	first := open(t, dir, maxBytes)
	write(t, first, start, 1)
	closed(t, first)
	run := filepath.Dir(glob(t, dir, "*.pprof.gz")[0])
	old := filepath.Join(elsewhere, "spanprof-1.tmp")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old, start, start); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(run, "kept")); err != nil {
		t.Fatal(err)
	}
	second := open(t, dir, maxBytes)
	if got := read(second); len(got.windows) != 0 || len(got.damaged) != 1 || !strings.Contains(got.damaged[0], "it is a symbolic link, want a directory") {
		t.Errorf("%+v", got)
	}
	closed(t, second)
	if _, err := os.Lstat(old); err != nil {
		t.Error(err)
	}
}
