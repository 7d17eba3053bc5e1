// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// privateDirectory returns a directory that passes receiver.Listen's check.
func privateDirectory(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRunFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	socket := "-listen " + filepath.Join(privateDirectory(t), "s")
	for args, want := range map[string]string{
		"-listen /no/such/directory/s":                             "-listen: receiver: socket /no/such/directory/s",
		socket + " -page " + l.Addr().String():                     "address already in use",
		socket + " -page nonsense":                                 "-page: address nonsense",
		socket + " -page 0.0.0.0:1":                                "loopback",
		socket + " -page 127.0.0.1:0 -socket /no/such/directory/s": "/no/such/directory",
	} {
		c, err := parse(strings.Fields(args), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if err := run(t.Context(), c, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", args, err, want)
		}
	}
}
