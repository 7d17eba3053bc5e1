// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package source_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
)

// A pipe in a directory, to which nobody writes, does not keep anybody waiting.
func TestPipeInADirectory(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.pprof"), 0o600); err != nil {
		t.Fatal(err)
	}
	cpu := made{types: cpuTypes, period: "cpu", values: []int64{1, 2}}.bytes(t)
	write(t, filepath.Join(dir, "a.pprof"), cpu)
	write(t, filepath.Join(elsewhere, "b.pprof"), cpu)
	for _, name := range []string{"pipe.pprof", "b.pprof"} {
		for _, from := range []string{dir, elsewhere} {
			if err := os.Symlink(filepath.Join(from, name), filepath.Join(dir, "link-"+filepath.Base(from)+name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Of the four links one is to a file, one to the pipe and two to nothing.
	s, err := source.Parse(dir)
	if err != nil {
		t.Fatal(err)
	}
	found, skipped := 0, 0
	err = s.Read(t.Context(), source.Want{}, func(error) { skipped++ }, func(*source.Profile) error { found++; return nil })
	if err != nil || found != 2 || skipped != 2 {
		t.Errorf("%d profiles, %d skipped, %v", found, skipped, err)
	}
}
