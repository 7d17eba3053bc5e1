// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiledir_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/loudskip"
	"github.com/spanprof/spanprof/internal/profiledir"
)

// smallDisk returns a file system of 512 KiB.
func smallDisk(t *testing.T) (disk string) {
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
	return disk
}

// fill makes a file that takes all the room of a disk.
func fill(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("fill the disk: %v", err)
	}
}

// Where a removed file makes no room on a full disk, one write in 16 removes as many bytes
// as it needs, and none removes a file that has a class.
func TestFullDiskThatRemovingDoesNotHelp(t *testing.T) {
	disk := smallDisk(t)
	dir, links := filepath.Join(disk, "dir"), filepath.Join(disk, "links")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Mkdir(links, 0o700)); err != nil {
		t.Fatal(err)
	}
	d := profiledir.New(dir, 1<<30, 0)
	d.Class = func(name string) int { return strings.Count(name, "+") }
	start := time.Now()
	write := func(name string) error { return d.Write(name, start, make([]byte, 10_000)) }
	for i := range 10 {
		for _, name := range []string{strconv.Itoa(i), strconv.Itoa(i) + "+"} {
			if err := write(name); err != nil {
				t.Fatal(err)
			}
			// A link holds the bytes of a file that is removed.
			if err := os.Link(filepath.Join(dir, name), filepath.Join(links, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	other := filepath.Join(disk, "other")
	fill(t, other)
	for i := range 3 * 16 {
		if err := write("new"); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "stayed full after old files were removed") {
			t.Fatalf("Write: %v", err)
		}
		if want := 1 + i/16; d.Removed != uint64(want) || len(d.Files()) != 20-want {
			t.Fatalf("after %d writes %d files were removed and %d are left of 20, want %d removed", i+1, d.Removed, len(d.Files()), want)
		}
	}
	// With room again, all goes on as before.
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	if err := write("new"); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(links); err != nil {
		t.Fatal(err)
	}
	fill(t, other)
	for i := range 30 { // of which seven old ones and then new ones make room
		if err := write(fmt.Sprint("new", i)); err != nil {
			t.Error(err)
		}
	}
	if d.BytesOf(1) != 10*10_000 {
		t.Errorf("%d bytes of class 1 are left, want all", d.BytesOf(1))
	}
}

// Where something else takes the room of a removed file once, the writes go on after some
// that fail.
func TestFullDiskAfterALostRace(t *testing.T) {
	disk := smallDisk(t)
	dir := filepath.Join(disk, "dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d := profiledir.New(dir, 1<<30, 0)
	write := func(name string) error { return d.Write(name, time.Now(), make([]byte, 10_000)) }
	for i := range 10 {
		if err := write(strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	// Only of this file a link holds the bytes.
	if err := os.Link(filepath.Join(dir, "0"), filepath.Join(disk, "link")); err != nil {
		t.Fatal(err)
	}
	fill(t, filepath.Join(disk, "other"))
	failed := 0
	for ; failed < 100; failed++ {
		err := write("new")
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	if failed != 16 || d.Removed != 2 {
		t.Errorf("%d writes failed and %d files were removed, want 16 and 2", failed, d.Removed)
	}
	// From now on each write makes its own room.
	for i := range 20 {
		if err := write(fmt.Sprint("newer", i)); err != nil {
			t.Error(err)
		}
	}
}
