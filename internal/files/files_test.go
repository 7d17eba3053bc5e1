// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/internal/files"
)

func TestReadBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := files.Read(path, files.NoFollow, 5); string(got) != "12345" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := files.Read(path, files.NoFollow, 4); got != nil || !errors.Is(err, files.ErrRefused) {
		t.Errorf("got %q, %v, want ErrRefused", got, err)
	}
	if err := os.Truncate(path, 8<<30); err != nil { // sparse
		t.Fatal(err)
	}
	_, err := files.Read(path, files.NoFollow, 1<<20)
	if want := "read " + path + ": refused: it has 8589934592 bytes or more, and at most 1048576 are read"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestEntries(t *testing.T) {
	dir := t.TempDir()
	const n = 600 // more than one part
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, strings.Repeat("x", 1+i%200)+strings.Repeat("y", i/200)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	count := func(dir string) (names []string, err error) {
		entries, err := files.Entries(dir, files.NoFollow)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names, err
	}
	names, err := count(dir)
	slices.Sort(names)
	if len(slices.Compact(names)) != n || err != nil {
		t.Errorf("got %d entries, %v, want %d", len(names), err, n)
	}
	if names, err := count(filepath.Join(dir, "none")); names != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a directory: %v, %v", names, err)
	}
	if names, err := count(filepath.Join(dir, "x")); names != nil || !errors.Is(err, files.ErrRefused) {
		t.Errorf("of a file: %v, %v", names, err)
	}
	files.SetMaxEntries(t, 512)
	if names, err := count(dir); names != nil || !errors.Is(err, files.ErrRefused) {
		t.Errorf("beyond the bound: %v, %v", names, err)
	}
}

func TestSkipped(t *testing.T) {
	var s files.Skipped
	s.Add(nil)
	if s.N != 0 || s.Err() != nil {
		t.Errorf("got %d, %v", s.N, s.Err())
	}
	s.Add(errors.New("a"))
	s.Add(nil)
	s.Add(errors.New("b"))
	s.Add(errors.New("c"))
	if s.N != 3 || s.Err().Error() != "a, and 2 more like it" {
		t.Errorf("got %d, %v", s.N, s.Err())
	}
}
