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

// Where a removed file makes no room on a full disk, no more than one write needs is
// removed, and never what has a class.
func TestFullDiskThatRemovingDoesNotHelp(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=512k"); err != nil {
		loudskip.Test(t, "needs a small file system, which only root can mount: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
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
	if err := os.WriteFile(other, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("fill the disk: %v", err)
	}
	for range 20 {
		if err := write("new"); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "other files take the room") {
			t.Fatalf("Write: %v", err)
		}
	}
	if d.Removed != 1 || len(d.Files()) != 19 {
		t.Errorf("%d files were removed and %d are left of 20, want 1 and 19", d.Removed, len(d.Files()))
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
	if err := os.WriteFile(other, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("fill the disk: %v", err)
	}
	for i := range 30 { // of which nine old ones and then new ones make room
		if err := write(fmt.Sprint("new", i)); err != nil {
			t.Error(err)
		}
	}
	if d.BytesOf(1) != 10*10_000 {
		t.Errorf("%d bytes of class 1 are left, want all", d.BytesOf(1))
	}
}
