// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package profiledir_test

import (
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/files/filestest"
	"github.com/spanprof/spanprof/internal/profiledir"
)

// Scan counts what is not a regular file.
func TestScanOddFiles(t *testing.T) {
	dir := t.TempDir()
	filestest.MakeOdd(t, dir, "", "")
	d := profiledir.New(dir, 100, 0)
	if err := d.Scan("", func(string) (time.Time, bool) { return time.Time{}, true }); err != nil {
		t.Fatal(err)
	}
	if got := d.Files(); len(got) != 1 || len(got[0].Name) != 255 || d.Skipped.N != filestest.Odd {
		t.Errorf("got %v, skipped %d: %v", got, d.Skipped.N, d.Skipped.Err())
	}
}
