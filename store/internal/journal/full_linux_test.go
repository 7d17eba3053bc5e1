// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/loudskip"
	"github.com/spanprof/spanprof/store/internal/journal"
)

// smallDisk returns a small file system.
func smallDisk(t *testing.T, options string) (disk string) {
	t.Helper()
	disk = t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, options); err != nil {
		loudskip.Test(t, "needs a small file system, which only root can mount: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	return disk
}

// fill takes what a disk has left: bytes, or files.
func fill(t *testing.T, disk string) {
	t.Helper()
	for {
		f, err := os.CreateTemp(disk, "others-")
		if err == nil {
			_, err = f.Write(make([]byte, 16<<10))
			err = errors.Join(err, f.Close())
		}
		if errors.Is(err, syscall.ENOSPC) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// On a full disk the oldest files of earlier runs make room for a new one, and for what it
// writes.
func TestStartOnFullDisk(t *testing.T) {
	for _, options := range []string{"size=512k", "size=512k,nr_inodes=24"} {
		t.Run(options, func(t *testing.T) {
			disk := smallDisk(t, options)
			dir := filepath.Join(disk, "dir")
			first := open(t, dir, maxBytes)
			for i := range 12 {
				if _, err := first.Profile(large(start.Add(time.Duration(i)*time.Minute), 10, 1000)); err != nil {
					t.Fatal(err)
				}
			}
			closed(t, first)
			fill(t, disk)
			second := open(t, dir, maxBytes)
			got := read(second)
			if s := second.Stats(); s.Removed == 0 || len(got.windows) != 12-int(s.Removed) || got.damaged != nil {
				t.Fatalf("windows %.200q, damaged %q: %+v", got.windows, got.damaged, s)
			}
			if len(got.windows) < 3 || !strings.HasPrefix(got.windows[0], "cpu 12:11:00") {
				t.Errorf("windows %.100q, want those of the oldest removed alone", got.windows)
			}
			fill(t, disk)
			if _, err := second.Profile(window(start.Add(time.Hour), 1)); err != nil {
				t.Error(err)
			}
			closed(t, second)
		})
	}
}

// Where nothing in the directory can make room, the error names it.
func TestStartOnDiskFullOfOthers(t *testing.T) {
	disk := smallDisk(t, "size=512k")
	dir := filepath.Join(disk, "dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	fill(t, disk)
	_, err := journal.Open(dir, journal.Config{MaxBytes: maxBytes})
	if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "directory "+dir+": ") {
		t.Errorf("%v, want that the disk of %s is full", err, dir)
	}
}
