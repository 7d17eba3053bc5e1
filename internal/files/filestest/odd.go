// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Package filestest makes entries of directories that are not regular files, for tests.
package filestest

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Odd is how many entries MakeOdd makes that are not regular files.
const Odd = 4

// MakeOdd makes a directory, a socket, a pipe and a link to a device in dir. It also makes
// a file with a name of 255 bytes. Their names begin with prefix and end with suffix.
func MakeOdd(t testing.TB, dir, prefix, suffix string) {
	t.Helper()
	name := func(of string) string { return filepath.Join(dir, prefix+of+suffix) }
	for _, err := range []error{
		os.Mkdir(name("directory"), 0o700),
		syscall.Mknod(name("socket"), syscall.S_IFSOCK|0o600, 0),
		syscall.Mkfifo(name("pipe"), 0o600),
		os.Symlink("/dev/zero", name("device")),
		os.WriteFile(name(strings.Repeat("x", 255-len(prefix)-len(suffix))), []byte("x"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}
