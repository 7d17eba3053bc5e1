// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live && linux

package segment

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// Writes to a full disk are counted and reported, and memory keeps its bound. Once there is
// room again, windows are written, and a new process reads all that was. It needs root.
func TestFullDisk(t *testing.T) {
	mounted := t.TempDir()
	if err := syscall.Mount("tmpfs", mounted, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mounted, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	filler := filepath.Join(mounted, "filler")
	if err := os.WriteFile(filler, make([]byte, 400<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	const maxBytes = 8 << 20
	r := NewRoom(maxBytes, attributes.NewKeys(nil))
	reported, full := 0, 0
	if err := r.WithDirectory(filepath.Join(mounted, "store"), 64<<20, func(err error) {
		reported++
		if errors.Is(err, syscall.ENOSPC) {
			full++
		}
	}); err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	write := func(n int) {
		var rows []row
		for k := range 1000 {
			id := ident.Key(rnd.Uint64())
			r.End(Ended{ID: id, Name: fmt.Sprint("GET /", rnd.Uint64()), Start: int64(n) * length, Duration: second})
			rows = append(rows, row{fmt.Sprint("main;f", k%50), 1, labels("span_id", id.String(), "profile_id", id.String())})
		}
		export(t, r, windowOf(n, exporter.KindCPU, profileOf(rows...)))
		if r.Flush(t.Context()) != nil {
			t.Fatal("not flushed")
		}
		for range 500 { // without a profile a part of the lines may find room
			r.End(Ended{ID: ident.Key(rnd.Uint64()), Parent: ident.Key(rnd.Uint64()), Name: "GET", Start: int64(n) * length, Duration: second})
		}
		if r.Flush(t.Context()) != nil {
			t.Fatal("not flushed")
		}
	}
	n := 0
	for ; r.disk.Counts().Failed < 150; n++ {
		write(n)
	}
	before := r.disk.Counts()
	r.disk.mu.Lock()
	waiting := r.disk.waiting
	r.disk.mu.Unlock()
	if int64(full) != before.Failed || reported != full || r.Stats().Bytes > maxBytes || waiting != 0 || len(r.unsaved) != 0 || before.Bytes > 1<<20 {
		t.Errorf("%d reported, %d full, %+v, %d bytes in memory, %d wait", reported, full, before, r.Stats().Bytes, waiting)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	last := n + 3
	for ; n < last; n++ {
		write(n)
	}
	if got := r.disk.Counts().Failed; got != before.Failed {
		t.Errorf("%d writes failed with room", got-before.Failed)
	}
	windows := readRoom(t, filepath.Join(mounted, "store"), 64<<20).View().Windows()
	t.Logf("%d of %d windows are on the disk, %d writes failed, %d bytes in memory", len(windows), n, before.Failed, r.Stats().Bytes)
	for i := range 3 {
		if at := len(windows) - 3 + i; at < 1 || windows[at].Start.UnixNano() != int64(last-3+i)*length {
			t.Errorf("the window %d is missing", last-3+i)
		}
	}
	_ = r.Close() // the kept set may have no room
}
