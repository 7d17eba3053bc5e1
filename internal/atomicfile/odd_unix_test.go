// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package atomicfile_test

import (
	"os"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/internal/atomicfile"
	"github.com/spanprof/spanprof/internal/files/filestest"
)

// Clean removes no pipes and directories with the name of an unfinished file. It counts them.
func TestCleanOddFiles(t *testing.T) {
	dir := t.TempDir()
	filestest.MakeOdd(t, dir, "spanprof-", ".tmp")
	err := atomicfile.Clean(dir)
	if err == nil || !strings.HasSuffix(err.Error(), "and 3 more like it") {
		t.Errorf("got %v, want an error for 4 entries", err)
	}
	if entries, err := os.ReadDir(dir); len(entries) != filestest.Odd+1 || err != nil {
		t.Errorf("got %v, %v, want all entries", entries, err)
	}
}
