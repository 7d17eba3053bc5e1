// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package segment

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/internal/atomicfile"
	"github.com/spanprof/spanprof/internal/files/filestest"
	"github.com/spanprof/spanprof/store/internal/attributes"
)

// What is not a regular file, in any place of a directory, is left out, counted and left
// alone. The rest is read, and a process writes beside it.
func TestOddFiles(t *testing.T) {
	for _, kind := range []string{"directory", "socket", "pipe", "device"} {
		for place, lost := range map[string]int{
			"segments-1-1-x": 0, "*/kept": 0, "*/kept.open": 0, "*/000007": 0, "*/000007.open": 0, "*/000000/1.pb.gz": 1, "*/000000/spans.json.gz": 3, "*/" + atomicfile.LockName: 0,
		} {
			t.Run(kind+" "+strings.ReplaceAll(place, "/", " "), func(t *testing.T) {
				path := t.TempDir()
				r := openRoom(t, path, 64<<20)
				fill(t, r, 0, 3)
				r.sealNow()
				fill(t, r, 3, 5)
				before := contentsOf(t, r)
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
				own, _ := filepath.Glob(filepath.Join(path, processPrefix+"*"))
				odd := filepath.Join(path, strings.Replace(place, "*", filepath.Base(own[0]), 1))
				if err := os.RemoveAll(odd); err != nil {
					t.Fatal(err)
				}
				made := t.TempDir()
				filestest.MakeOdd(t, made, "", "")
				if err := os.Rename(filepath.Join(made, kind), odd); err != nil {
					t.Fatal(err)
				}
				mode := modeOf(t, odd)
				reported := 0
				next := NewRoom(64<<20, attributes.NewKeys(nil))
				if err := next.WithDirectory(path, 64<<20, func(error) { reported++ }); err != nil {
					t.Fatal(err)
				}
				<-next.loader.done
				after := contentsOf(t, next)
				if lost == 0 && !cmp.Equal(before, after) || len(after.Windows) != 5-lost {
					t.Errorf("%d windows and %d spans, want %d windows", len(after.Windows), len(after.Spans), 5-lost)
				}
				// A process may leave an empty directory, and one that it has just opened. A
				// lock that cannot be taken protects nobody.
				want := 1
				if kind == "directory" && (place == "segments-1-1-x" || strings.HasSuffix(place, opened)) || place == "*/"+atomicfile.LockName {
					want = 0
				}
				if reported != want || next.View().Unreadable != int64(want) {
					t.Errorf("%d reported, %d counted, want %d", reported, next.View().Unreadable, want)
				}
				fill(t, next, 5, 6)
				if err := next.Close(); err != nil || next.closed.Failed > 0 {
					t.Errorf("%v, %+v", err, next.closed)
				}
				if want > 0 && modeOf(t, odd) != mode {
					t.Error("it was changed")
				}
			})
		}
	}
}

// Many odd files beside the files of a process harm nobody. A directory of an earlier version
// is reported.
func TestOddNeighbours(t *testing.T) {
	path := t.TempDir()
	r := openRoom(t, path, 64<<20)
	fill(t, r, 0, 3)
	before := contentsOf(t, r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	filestest.MakeOdd(t, path, processPrefix+"1-1-", "")
	dirs, _ := filepath.Glob(filepath.Join(path, "*", "*"+opened))
	filestest.MakeOdd(t, filepath.Dir(dirs[0]), "", "")
	filestest.MakeOdd(t, dirs[0], "", "x")
	old := filepath.Join(path, "1")
	if err := errors.Join(os.Mkdir(old, 0o700), os.WriteFile(filepath.Join(old, oldFile), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	reader := NewRoom(64<<20, r.keys)
	reported := 0
	if err := reader.OpenDirectory(path, func(error) { reported++ }); err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(before, contentsOf(t, reader)) || reported != filestest.Odd+1 {
		t.Errorf("%d reported, want %d: %d windows", reported, filestest.Odd+1, len(reader.View().Windows()))
	}
}

// What is odd where a process writes is counted, and the process goes on.
func TestOddWhereItWrites(t *testing.T) {
	for _, kind := range []string{"directory", "socket", "pipe", "device"} {
		for _, place := range []string{"000000.open", "000000.open/1.pb.gz", "000000.open/spans.json.gz", "kept", "kept.open"} {
			r := NewRoom(64<<20, attributes.NewKeys(nil))
			failed := 0
			if err := r.WithDirectory(t.TempDir(), 64<<20, func(error) { failed++ }); err != nil {
				t.Fatal(err)
			}
			made := t.TempDir()
			filestest.MakeOdd(t, made, "", "")
			dir := r.disk.dir
			odd := filepath.Join(dir, place)
			if err := os.MkdirAll(filepath.Dir(odd), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(made, kind), odd); err != nil {
				t.Fatal(err)
			}
			fill(t, r, 0, 2)
			r.mu.Lock()
			r.seal()
			r.dropOldest()
			r.mu.Unlock()
			fill(t, r, 2, 3)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if int64(failed) != r.closed.Failed || len(r.View().Windows()) != 1 {
				t.Errorf("%s in place of %s: %d reported, %+v", kind, place, failed, r.closed)
			}
			if _, err := os.Stat(filepath.Join(dir, "000001.open", "1.pb.gz")); err != nil {
				t.Errorf("%s in place of %s: %v", kind, place, err)
			}
		}
	}
}

func modeOf(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}
