// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package source_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/internal/files/filestest"
)

// What is not a regular file is skipped and reported, and blocks nothing.
func TestOddFilesInADirectory(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	filestest.MakeOdd(t, dir, "", ".pprof")
	if err := syscall.Mkfifo(filepath.Join(dir, source.RecordingFile), 0o600); err != nil {
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
	// Of the four links one is to a file, one to the pipe and two to nothing. The directory
	// is searched. The recording and the file with a long name are unreadable.
	const want = 3 + filestest.Odd - 1 + 2
	s, err := source.Parse(dir)
	if err != nil {
		t.Fatal(err)
	}
	found, skipped := 0, 0
	err = s.Read(t.Context(), "", func(error) { skipped++ }, func(*source.Profile) error { found++; return nil })
	if err != nil || found != 2 || skipped != want {
		t.Errorf("%d profiles, %d skipped, %v, want 2 and %d", found, skipped, err, want)
	}
}

// The files of a ConfigMap are links into a directory beside them, and count once.
func TestConfigMap(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "..2026_11_26", "a.pprof"), made{types: cpuTypes, period: "cpu", values: []int64{1, 2}}.bytes(t))
	for link, to := range map[string]string{"..data": "..2026_11_26", "a.pprof": "..data/a.pprof"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := read(t, dir); err != nil || len(found) != 1 || found[0].Name != filepath.Join(dir, "a.pprof") {
		t.Errorf("%d profiles, %v, want 1", len(found), err)
	}
}

// A file that the user names may be a pipe: that is how a shell gives the output of a
// command.
func TestNamedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if _, err := w.Write(made{types: cpuTypes, period: "cpu", values: []int64{1, 2}}.bytes(t)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if found, err := read(t, fmt.Sprintf("/dev/fd/%d", r.Fd())); err != nil || len(found) != 1 {
		t.Errorf("%d profiles, %v", len(found), err)
	}
}
