// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package exporter_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/files/filestest"
	"github.com/spanprof/spanprof/internal/report/reporttest"
)

// What is not a regular file cannot block the worker. It is reported and stays, and so
// is a file that is too large for a record.
func TestSpillSkipsOddFiles(t *testing.T) {
	var mu sync.Mutex
	var reported []string
	reporttest.Handle(t, func(err error) {
		mu.Lock()
		defer mu.Unlock()
		reported = append(reported, err.Error())
	})
	dir := t.TempDir()
	filestest.MakeOdd(t, dir, "9000000000000000000-", ".spanprof")
	sparse := filepath.Join(dir, "8000000000000000000-x.spanprof")
	if err := os.WriteFile(sparse, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, 8<<30); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		d := new(destination)
		q := newQueue(t, d, exporter.WithSpill(dir))
		export(t, q, "a")
		synctest.Wait() // the directory is read before Shutdown
		shutdown(t, q)
		wantTaken(t, d, "a")
	})
	if _, err := os.Lstat(filepath.Join(dir, "9000000000000000000-pipe.spanprof")); err != nil {
		t.Error(err)
	}
	if len(reported) == 0 || !strings.HasPrefix(reported[0], "spill directory: skipped: ") || !strings.HasSuffix(reported[0], "and 4 more like it") {
		t.Errorf("reported %q", reported)
	}
}
