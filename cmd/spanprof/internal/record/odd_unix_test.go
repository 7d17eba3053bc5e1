// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package record

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/internal/files/filestest"
)

// What is not a regular file does not count and is reported once.
func TestRoomSkipsOddFiles(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "target", "run")
	if err := os.MkdirAll(run, 0o700); err != nil {
		t.Fatal(err)
	}
	filestest.MakeOdd(t, run, "20261101T000000.000000000Z-", "-cpu.pprof.gz")
	if err := os.Mkdir(filepath.Join(run, source.RecordingFile), 0o700); err != nil {
		t.Fatal(err)
	}
	var reported []string
	r := room{dir: dir, max: 10, report: func(text string) { reported = append(reported, text) }}
	for range 2 {
		if err := r.forWrite(9, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if all, sum, err := r.kept(); len(all) != 1 || sum != 1 || err != nil {
		t.Errorf("got %v, %d bytes, %v", all, sum, err)
	}
	if len(reported) != 1 {
		t.Errorf("reported %q", reported)
	}
}
