// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/atomicfile"
	"github.com/spanprof/spanprof/internal/files/filestest"
)

// Prepare removes no pipes and directories with the name of an unfinished file.
func TestPrepareOddFiles(t *testing.T) {
	dir := t.TempDir()
	filestest.MakeOdd(t, dir, "spanprof-", ".tmp")
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"directory", "pipe", "socket"} {
		if err := os.Chtimes(filepath.Join(dir, "spanprof-"+name+".tmp"), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := atomicfile.Prepare(dir); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); len(entries) != filestest.Odd+1 || err != nil {
		t.Errorf("got %v, %v, want all entries", entries, err)
	}
}

// A link in place of the lock creates no file elsewhere.
func TestLockFollowsNoLink(t *testing.T) {
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "file")
	if err := os.Symlink(elsewhere, filepath.Join(dir, atomicfile.LockName)); err != nil {
		t.Fatal(err)
	}
	if lock, err := atomicfile.TryLock(dir); err == nil {
		t.Error("locked", lock.Name(), lock.Close())
	}
	if _, err := os.Lstat(elsewhere); !os.IsNotExist(err) {
		t.Errorf("the link was followed: %v", err)
	}
}
