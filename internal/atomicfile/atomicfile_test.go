// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/internal/atomicfile"
)

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b[1]")
	if err := atomicfile.Prepare(dir); err != nil {
		t.Fatal(err)
	}
	for _, second := range []string{"def", "xyz"} { // the second time it replaces the file
		if err := atomicfile.Write(dir, "name", []byte(second)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "name"))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != second {
			t.Errorf("file holds %q, want %q", got, second)
		}
	}
	if diff := cmp.Diff([]string{"name"}, names(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestWriteFailsWithoutATrace(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "name"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(dir, "name", []byte("abc")); err == nil {
		t.Error("no error in place of a directory")
	}
	if diff := cmp.Diff([]string{"name"}, names(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if err := atomicfile.Write(filepath.Join(dir, "gone"), "name", nil); err == nil {
		t.Error("no error without the directory")
	}
}

func TestPrepare(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"keep", "spanprof-123.tmp", "other-123.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	// Another process may be writing this one.
	if err := os.WriteFile(filepath.Join(dir, "spanprof-now.tmp"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Prepare(dir); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"keep", "other-123.tmp", "spanprof-now.tmp"}, names(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if err := atomicfile.Prepare(filepath.Join(dir, "keep")); err == nil {
		t.Error("no error for a file in place of the directory")
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	first, err := atomicfile.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := atomicfile.Lock(dir); !errors.Is(err, atomicfile.ErrLocked) {
		t.Errorf("second Lock: %v, want ErrLocked", err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	again, err := atomicfile.Lock(dir)
	if err != nil {
		t.Fatalf("Lock after Close: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if _, err := atomicfile.Lock(filepath.Join(dir, "gone")); err == nil || errors.Is(err, atomicfile.ErrLocked) {
		t.Errorf("Lock without the directory: %v", err)
	}
}
