// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package atomicfile_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/spanprof/spanprof/internal/atomicfile"
)

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
