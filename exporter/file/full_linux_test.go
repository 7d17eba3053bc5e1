// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package file_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter/file"
)

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("needs a small file system, which only root can mount: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	e := newExporter(t, dir)
	start := time.Now()
	var full error
	for i := 0; full == nil && i < 100; i++ {
		full = e.Export(t.Context(), gzipped(start.Add(time.Duration(i)*time.Second), 10_000))
	}
	if !errors.Is(full, syscall.ENOSPC) {
		t.Fatalf("Export: %v, want no space left on device", full)
	}
	s := e.Stats()
	if s.Dropped != 1 || s.Written == 0 || s.Bytes != int64(s.Written)*10_000 {
		t.Errorf("Stats %+v", s)
	}
	if got := names(t, dir); len(got) != s.Files {
		t.Errorf("%d files, want %d: %v", len(got), s.Files, got)
	}

	// A later start rotates what is there, and goes on.
	e = newExporter(t, dir, file.WithMaxBytes(20_000))
	export(t, e, gzipped(start.Add(time.Hour), 10_000))
	if got := names(t, dir); len(got) != 2 {
		t.Errorf("%d files, want 2: %v", len(got), got)
	}
}
