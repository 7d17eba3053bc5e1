// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !solaris && !aix

package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spanprof/spanprof/internal/atomicfile"
)

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
