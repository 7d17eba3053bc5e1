// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spanprof/spanprof/internal/atomicfile"
)

// Whoever has the lock of a directory is alone with it, also where others remove it and
// make it again.
func TestRemoveLocked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	var (
		all        sync.WaitGroup
		inside, ok atomic.Int64
	)
	for range 8 {
		all.Go(func() {
			for range 200 {
				_ = os.Mkdir(dir, 0o700)
				lock, err := atomicfile.TryLock(dir)
				if errors.Is(err, atomicfile.ErrLocked) || errors.Is(err, os.ErrNotExist) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d have the lock", n)
				}
				if _, err := os.Stat(filepath.Join(dir, atomicfile.LockName)); err != nil {
					t.Errorf("the locked directory is gone: %v", err)
				}
				inside.Add(-1)
				// Another one may have begun to use it again.
				_ = atomicfile.RemoveLocked(dir, lock)
				ok.Add(1)
			}
		})
	}
	all.Wait()
	if ok.Load() == 0 {
		t.Error("none had the lock")
	}
}
