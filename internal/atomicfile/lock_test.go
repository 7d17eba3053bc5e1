// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/spanprof/spanprof/internal/atomicfile"
)

// Many share a lock that one has alone otherwise.
func TestTryShare(t *testing.T) {
	dir := t.TempDir()
	closed := func(f *os.File) {
		t.Helper()
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	locked := func(what string, lock func(string) (*os.File, error)) {
		t.Helper()
		if f, err := lock(dir); !errors.Is(err, atomicfile.ErrLocked) {
			t.Errorf("%s: %v, %v, want ErrLocked", what, f, err)
		}
	}
	one, err := atomicfile.TryShare(dir)
	if err != nil {
		t.Fatal(err)
	}
	other, err := atomicfile.TryShare(dir)
	if err != nil {
		t.Fatal(err)
	}
	locked("TryLock of what is shared", atomicfile.TryLock)
	closed(one)
	locked("TryLock of what one shares still", atomicfile.TryLock)
	closed(other)
	alone, err := atomicfile.TryLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	locked("TryShare of what is locked", atomicfile.TryShare)
	if err := atomicfile.RemoveLocked(dir, alone); err != nil {
		t.Error(err)
	}
	if _, err := atomicfile.TryShare(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("TryShare of a removed directory: %v", err)
	}
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	first, err := atomicfile.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := atomicfile.Lock(dir); !errors.Is(err, atomicfile.ErrLocked) {
		t.Errorf("second Lock: %v, want ErrLocked", err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	again, err := atomicfile.Lock(dir)
	if err != nil {
		t.Fatalf("Lock after Close: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if _, err := atomicfile.Lock(filepath.Join(dir, "gone")); err == nil || errors.Is(err, atomicfile.ErrLocked) {
		t.Errorf("Lock without the directory: %v", err)
	}
}
