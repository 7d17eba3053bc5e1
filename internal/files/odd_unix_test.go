// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/spanprof/spanprof/internal/files"
	"github.com/spanprof/spanprof/internal/files/filestest"
)

// Only regular files are read. Everything else is refused without waiting.
func TestOddFiles(t *testing.T) {
	dir := t.TempDir()
	filestest.MakeOdd(t, dir, "", "")
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(path("file"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link": "file", "to-directory": "directory", "to-pipe": "pipe"} {
		if err := os.Symlink(to, path(link)); err != nil {
			t.Fatal(err)
		}
	}
	if f, err := files.Append(path("link")); err == nil {
		t.Error("opened a link for appending", f.Close())
	}
	pipe, err := os.OpenFile(path("pipe"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files.Append(path("pipe")); !errors.Is(err, files.ErrRefused) {
		t.Error("appending to a pipe with a reader:", err)
	}
	if err := pipe.Close(); err != nil {
		t.Fatal(err)
	}
	const followed, never, named = files.Follow, files.Links(-1), files.Named
	for name, least := range map[string]files.Links{
		"file": files.NoFollow, "link": followed, "pipe": never, "to-pipe": never, // without a writer
		"directory": never, "to-directory": never, "socket": never, "device": never,
	} {
		for _, links := range []files.Links{files.NoFollow, files.Follow, files.Named} {
			want := links == least || least == files.NoFollow || least == followed && links == named
			_, err := files.Read(path(name), links, 10)
			if want != (err == nil) || err != nil && !errors.Is(err, files.ErrRefused) {
				t.Errorf("%s with %d: got %v, want success: %t", name, links, err, want)
			}
		}
	}
	for name, want := range map[string]bool{"directory": true, "to-directory": false, "pipe": false, "to-pipe": false, "device": false, "socket": false} {
		_, got := files.Entries(path(name), files.NoFollow)
		if want != (got == nil) || got != nil && !errors.Is(got, files.ErrRefused) {
			t.Errorf("entries of %s: %v, want success: %t", name, got, want)
		}
	}
	var skipped files.Skipped
	list, err := files.List(dir, files.Follow, &skipped, func(name string) bool { return name != "file" })
	if len(list) != 1 || skipped.N != filestest.Odd+3 || err != nil {
		t.Errorf("got %d regular files and %d others: %v, %v", len(list), skipped.N, skipped.Err(), err)
	}
}
