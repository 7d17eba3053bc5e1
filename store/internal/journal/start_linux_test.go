// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// The runs of another user are left alone.
func TestRunOfAnotherUser(t *testing.T) {
	// A path from the root would lead through directories that are private to root.
	dir := filepath.Join(t.TempDir(), "private", "dir")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	dir = "."
	first := open(t, dir, maxBytes)
	write(t, first, start, 1)
	closed(t, first)
	second := open(t, dir, maxBytes)
	write(t, second, start.Add(time.Minute), 2)
	closed(t, second)
	foreign, own := filepath.Dir(glob(t, dir, "*.pprof.gz")[0]), filepath.Dir(glob(t, dir, "*.pprof.gz")[1])
	if os.Getuid() != 0 {
		if err := os.Chmod(foreign, 0); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.Chmod(foreign, 0o700) }() //nolint:gosec // a directory
		wantLeftOut(t, dir, foreign)
		return
	}
	// Root reads all, but not a thread of it whose files are another user's.
	const nobody = 65534
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // of the test
		t.Fatal(err)
	}
	if err := filepath.WalkDir(own, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			err = os.Chown(path, nobody, nobody)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // it ends with the test, as it is not unlocked
	if err := syscall.Setfsuid(nobody); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setfsuid(0); err != nil {
			t.Error(err)
		}
	}()
	wantLeftOut(t, dir, foreign)
}
