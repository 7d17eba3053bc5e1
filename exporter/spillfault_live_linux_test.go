// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exporter_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spanprof/spanprof/exporter"
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
