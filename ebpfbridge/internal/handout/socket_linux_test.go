// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestListen(t *testing.T) {
	dir := t.TempDir()
	file, stale := filepath.Join(dir, "file"), filepath.Join(dir, "stale")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file: "no socket", "": "path of a file", "@abstract": "path of a file",
		filepath.Join(dir, "no", "s"):                "does not exist",
		filepath.Join(dir, strings.Repeat("x", 108)): "bytes",
	} {
		if l, err := ListenUnix(path, 0o666); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want an error with %q", path, l, err, want)
		}
	}
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	if l, err := ListenUnix(stale, 0o666); err == nil || !strings.Contains(err.Error(), "another program listens") {
		t.Errorf("a socket in use: %v, %v", l, err)
	}
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := ListenUnix(stale, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(stale); err != nil || info.Mode() != os.ModeSocket|0o666 {
		t.Errorf("%v, %v, want a socket with 0666", info.Mode(), err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v after Close, want no file", err)
	}
}
