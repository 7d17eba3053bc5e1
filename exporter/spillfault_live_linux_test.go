// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exporter_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/loudskip"
)

// What had to wait in memory while the disk was full is in files when there is room,
// and survives the process.
func TestSpillAfterAFullDisk(t *testing.T) {
	reported := reports(t)
	dir := smallDisk(t)
	full := filepath.Join(dir, "others")
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, &destination{send: down}, exporter.WithSpill(dir))
		if err := os.WriteFile(full, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("fill the disk: %v", err)
		}
		export(t, q, "a", "b", "c")
		<-time.After(10 * time.Second)
		synctest.Wait()
		wantNotSpilled(t, q, 3)
		wantFiles(t, dir, 1)

		if err := os.Remove(full); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		wantFiles(t, dir, 3)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := q.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "3 profile(s) kept") {
			t.Errorf("Shutdown: %v", err)
		}
		wantNotSpilled(t, q, 3)
	})
	if got := strings.Join(reported(), "\n"); !strings.Contains(got, "waits in memory") || !strings.Contains(got, "no space left") {
		t.Errorf("reported %q", got)
	}
	synctest.Test(t, func(t *testing.T) {
		d := new(destination)
		q := newQueue(t, d, exporter.WithSpill(dir))
		shutdown(t, q)
		got := d.names()
		slices.Sort(got)
		if !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("taken %q", got)
		}
	})
}

// A process that has no file descriptors left for six seconds loses no file.
func TestSpillWithoutDescriptors(t *testing.T) {
	reports(t)
	dir := t.TempDir()
	names := make([]string, 100)
	for i := range names {
		names[i] = fmt.Sprintf("profile %d", i)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	setLimit := func(limit syscall.Rlimit) {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Error(err)
		}
	}
	defer setLimit(limit)
	synctest.Test(t, func(t *testing.T) {
		leave(t, dir, names...)
		d := new(destination)
		none := limit
		none.Cur = 3
		d.send = func(context.Context, string) error {
			if len(d.names()) == 0 {
				setLimit(none)
			}
			return nil
		}
		q := newQueue(t, d, exporter.WithSpill(dir))
		<-time.After(6 * time.Second)
		synctest.Wait()
		s := q.Stats()
		setLimit(limit)
		if !errors.Is(s.LastError, syscall.EMFILE) || s.Waiting == 0 {
			t.Errorf("Stats %+v, want files that could not be opened", s)
		}
		if err := q.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		shutdown(t, q)
		if s := q.Stats(); s.Exported != 100 || s.Dropped() != 0 {
			t.Errorf("Stats %+v, want all exported", s)
		}
		got := d.names()
		slices.Sort(got)
		slices.Sort(names)
		if !slices.Equal(got, names) {
			t.Errorf("taken %q", got)
		}
	})
	wantFiles(t, dir, 0)
}

// smallDisk mounts a file system of 256 kB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		loudskip.Test(t, "needs a small file system, which only root can mount: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Shutdown writes what waits in memory, if there is room by then, before it gives up.
func TestShutdownSpillsWhatWaitsInMemory(t *testing.T) {
	reports(t)
	dir := smallDisk(t)
	full := filepath.Join(dir, "others")
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, &destination{send: func(context.Context, string) error {
			return &exporter.RetryError{Err: errors.New("503"), Refused: true, After: time.Minute}
		}}, exporter.WithSpill(dir))
		if err := os.WriteFile(full, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("fill the disk: %v", err)
		}
		export(t, q, "a", "b")
		synctest.Wait()
		if err := os.Remove(full); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if err := q.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "2 profile(s) kept") {
			t.Errorf("Shutdown: %v, want both kept", err)
		}
		wantNotSpilled(t, q, 2)
	})
	wantFiles(t, dir, 2)
}

func wantNotSpilled(t *testing.T, q *exporter.Queue, n uint64) {
	t.Helper()
	if s := q.Stats(); s.NotSpilled != n || s.Dropped() != 0 || s.Taken != s.Kept+uint64(s.Waiting) {
		t.Errorf("Stats %+v, want %d that found no room on the disk, and none dropped", s, n)
	}
}

// A directory that becomes read-only loses nothing: what is in it is delivered, and a
// damaged file stays.
func TestSpillReadOnly(t *testing.T) {
	reports(t)
	dir := smallDisk(t)
	synctest.Test(t, func(t *testing.T) { leave(t, dir, "x", "x") })
	damaged := files(t, dir)[1] // the other is read, and held back, before the directory becomes read-only
	if err := os.Truncate(damaged, 100); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var back atomic.Bool
		hold := make(chan struct{})
		d := &destination{send: func(ctx context.Context, name string) error {
			<-hold
			if back.Load() {
				return nil
			}
			return down(ctx, name)
		}}
		q := newQueue(t, d, exporter.WithSpill(dir))
		synctest.Wait()
		// On top of the directory in which the Queue has its lock open for writing.
		if err := errors.Join(syscall.Mount(dir, dir, "", syscall.MS_BIND, ""),
			syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, "")); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := syscall.Unmount(dir, 0); err != nil {
				t.Error(err)
			}
		}()
		export(t, q, "meanwhile")
		close(hold)
		<-time.After(time.Second)
		synctest.Wait()
		back.Store(true)
		shutdown(t, q)
		got := d.names()
		slices.Sort(got)
		if !slices.Equal(got, []string{"meanwhile", "x"}) {
			t.Errorf("taken %q", got)
		}
		wantStats(t, q, exporter.LaneStatus{Exported: 2, Unreadable: 1, NotSpilled: 1, Retries: q.Stats().Retries})
	})
	if _, err := os.Stat(damaged); err != nil {
		t.Errorf("the damaged file: %v", err)
	}
}
