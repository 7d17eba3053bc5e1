// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter/file"
	"github.com/spanprof/spanprof/internal/loudskip"
)

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		loudskip.Test(t, "needs a small file system, which only root can mount: "+err.Error())
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	e := newExporter(t, dir)
	start := time.Now()
	const windows = 20
	for i := range windows { // 64 kB hold six of them
		export(t, e, gzipped(start.Add(time.Duration(i)*time.Second), 10_000))
	}
	s := e.Stats()
	if s.Written != windows || s.Dropped != 0 || s.Removed != uint64(windows-s.Files) || s.Bytes != int64(s.Files)*10_000 {
		t.Errorf("Stats %+v, want every window written, and the oldest removed for it", s)
	}
	got := names(t, dir)
	if len(got) != s.Files {
		t.Errorf("files %v, want %d", got, s.Files)
	}

	// What others have written is left alone.
	other := filepath.Join(dir, "other")
	for _, name := range got {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(other, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("fill the disk: %v", err)
	}
	err := e.Export(t.Context(), gzipped(start.Add(time.Hour), 10_000))
	if !errors.Is(err, syscall.ENOSPC) || e.Stats().Dropped != 1 {
		t.Errorf("Export on a disk that is full of other things: %v, %+v", err, e.Stats())
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
	shutdown(t, e)

	// A later start rotates what is there, and goes on.
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	e = newExporter(t, dir, file.WithMaxBytes(20_000))
	for i := range 3 {
		export(t, e, gzipped(start.Add(time.Duration(i)*time.Hour), 10_000))
	}
	if got := names(t, dir); len(got) != 2 {
		t.Errorf("files %v, want two", got)
	}
	shutdown(t, e)
}
