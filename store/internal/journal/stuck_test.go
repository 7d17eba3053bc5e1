// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/store/internal/journal"
)

// testStuck writes windows where stick has made the two oldest files of an earlier run ones
// that cannot be removed, and then again once loosen has undone that.
func testStuck(t *testing.T, stick, loosen func(file string) error) {
	t.Helper()
	const bytes = 100_000
	dir := t.TempDir()
	first := open(t, dir, bytes)
	for i := range 10 {
		if _, err := first.Profile(large(start.Add(time.Duration(i)*time.Minute), 10, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, first)
	second := openWith(t, dir, journal.Config{MaxBytes: bytes, Rank: func(s *profile.Sample) int {
		if s.Label["rank"][0] == "7" {
			return 0
		}
		return journal.NoRank
	}})
	files := glob(t, dir, "*.pprof.gz")
	for _, file := range files[:2] {
		if err := stick(file); err != nil {
			t.Fatal(err)
		}
	}
	write := func(from int) {
		for i := from; i < from+30; i++ {
			if _, err := second.Profile(large(start.Add(time.Duration(i)*time.Minute), 10, 1000)); err != nil {
				t.Fatal(err)
			}
			if s := second.Stats(); s.Bytes > bytes {
				t.Fatalf("%+v, want at most %d bytes", s, bytes)
			}
		}
	}
	write(100)
	if n, err := second.Stuck(); n != 2 || err == nil || !strings.Contains(err.Error(), filepath.Base(files[1])) || second.Stats().Stuck != 2 {
		t.Errorf("%d files cannot be removed: %v, %+v; want 2, the last one %s", n, err, second.Stats(), files[1])
	}
	for _, file := range files[2:] {
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s is there still", file)
		}
	}
	for _, file := range files[:2] {
		if err := loosen(file); err != nil {
			t.Fatal(err)
		}
	}
	write(200)
	if n, _ := second.Stuck(); n != 0 || second.Stats().Stuck != 0 {
		t.Errorf("%d files cannot be removed, want none any more: %+v", n, second.Stats())
	}
	want := sizeOf(t, append(append(glob(t, dir, "*.pprof.gz"), glob(t, dir, filepath.Join("kept", "*.gz"))...), glob(t, dir, "*-spans.jsonl.gz")...))
	if s := second.Stats(); s.Bytes != want {
		t.Errorf("%d bytes are counted of %d", s.Bytes, want)
	}
}

// Files that cannot be removed stay, and the next oldest make room for them.
func TestFilesThatCannotBeRemoved(t *testing.T) {
	testStuck(t, func(file string) error { // makes it a directory with a file
		return errors.Join(os.Remove(file), os.Mkdir(file, 0o700), os.WriteFile(filepath.Join(file, "x"), nil, 0o600))
	}, os.RemoveAll)
}
