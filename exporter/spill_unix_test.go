// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package exporter_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/spanprof/spanprof/exporter"
)

// What is no file cannot hold the worker up.
func TestSpillSkipsPipes(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "9000000000000000000-x.spanprof")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("needs a file system with pipes: %v", err)
	}
	d := new(destination)
	q := newQueue(t, d, exporter.WithSpill(dir))
	export(t, q, "a")
	shutdown(t, q)
	wantTaken(t, d, "a")
	if _, err := os.Lstat(pipe); err != nil {
		t.Error(err)
	}
}
