// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/loudskip"
)

// smallDisk mounts a file system of 512 KiB, and returns a directory in it.
func smallDisk(t *testing.T) (disk, dir string) {
	t.Helper()
	disk = t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=512k"); err != nil {
		loudskip.Test(t, "needs a small file system, which only root can mount: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	dir = filepath.Join(disk, "dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return disk, dir
}

// fill makes a file that takes all the room of a disk.
func fill(t *testing.T, disk string) (name string) {
	t.Helper()
	name = filepath.Join(disk, "filler")
	if err := os.WriteFile(name, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("fill the disk: %v", err)
	}
	return name
}

// On a full disk the oldest files are removed for new ones.
func TestFullDisk(t *testing.T) {
	_, dir := smallDisk(t)
	e := newExporter(t, dir, 0)
	start := time.Now()
	const windows = 60
	for i := range windows { // the disk holds about forty
		export(t, e, gzipped(start.Add(time.Duration(i)*time.Second), 10_000))
	}
	if got := names(t, dir); len(got) < 30 || len(got) > 50 || !strings.HasPrefix(got[len(got)-1], start.Add((windows-1)*time.Second).UTC().Format("20060102T150405.")) {
		t.Errorf("got files %v, want the newest forty or so", got)
	}
}

// If removing a file does not help, only one write in 16 removes files: as many bytes as it
// needs.
func TestFullDiskThatRemovingDoesNotHelp(t *testing.T) {
	disk, dir := smallDisk(t)
	e := newExporter(t, dir, 0)
	start := time.Now()
	for i := range 10 {
		export(t, e, gzipped(start.Add(time.Duration(i)*time.Second), 10_000))
	}
	var links []string
	for _, name := range names(t, dir) { // a link keeps the bytes of a removed file
		links = append(links, filepath.Join(disk, name))
		if err := os.Link(filepath.Join(dir, name), filepath.Join(disk, name)); err != nil {
			t.Fatal(err)
		}
	}
	filler := fill(t, disk)
	for i := range 3 * 16 {
		err := e.Export(t.Context(), gzipped(start.Add(time.Hour), 10_000))
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "stayed full after old files were removed") {
			t.Fatalf("got %v, want a full disk", err)
		}
		wantFiles(t, dir, 9-i/16, int64(9-i/16)*10_000)
	}
	// With room again, all goes on as before.
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	export(t, e, gzipped(start.Add(time.Hour), 10_000))
	for _, link := range links {
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, disk)
	for i := range 30 { // removes the old files first, then new ones
		export(t, e, gzipped(start.Add(time.Hour+time.Duration(i+1)*time.Second), 10_000))
	}
}
