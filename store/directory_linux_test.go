// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/loudskip"
	"github.com/spanprof/spanprof/store"
)

// On a full disk the store goes on in memory and counts, and it writes again once there
// is room.
func TestDirectoryOnFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		loudskip.Test(t, "needs a small file system, which only root can mount: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	dir := filepath.Join(disk, "spanprof")
	s := newStore(t, store.WithDirectory(dir, 8<<20))
	slow := endSpan(s, "GET /slow", 0.1, 0.9, nil)
	write := func(n int, id string) {
		export(t, s, busyWindow(n, 1000, id))
		if err := s.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	write(0, slow)
	// Its own oldest files make room first.
	n := 1
	for ; s.Stats().Directory.FilesRemoved == 0; n++ {
		write(n, "")
	}
	if d := s.Stats().Directory; d.WriteFailures > 0 {
		t.Errorf("files that could make room did not: %+v", d)
	}
	// Others have taken all that is left.
	other, err := os.Create(filepath.Join(disk, "other"))
	if err != nil {
		t.Fatal(err)
	}
	for ; s.Stats().Directory.WriteFailures == 0; n++ {
		for err == nil { // until it is full
			_, err = other.Write(make([]byte, 4<<10))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		err = nil
		write(n, "")
	}
	if stats := s.Stats(); stats.Windows != n {
		t.Errorf("%d windows in memory, want %d", stats.Windows, n)
	}
	shutdown(t, s)
	if err := errors.Join(other.Close(), os.Remove(other.Name())); err != nil {
		t.Fatal(err)
	}
	second := openStore(t, dir)
	id := endSpan(second, "GET /slow", 0.1, 0.9, nil)
	export(t, second, inWindow(0, exporter.KindCPU, cpuProfile(ofSpan("main;slow", 1, id))))
	shutdown(t, second)
	if d := second.Stats().Directory; d.WriteFailures > 0 || d.FilesWritten == 0 {
		t.Errorf("with room again: %+v", d)
	}
}
