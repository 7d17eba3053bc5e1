// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/record"
	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
)

// No address leads out of the directory.
func TestRecordDirectories(t *testing.T) {
	for _, address := range []string{"http://..", "http://.", "http://h/../..", "http://[::1]:80", "https://a.b/x"} {
		target, err := source.NewTarget(address + "/debug/pprof/")
		if err != nil {
			t.Fatal(err)
		}
		if dir, name := filepath.Split(record.DirOf("d", target)); filepath.Clean(dir) != "d" || strings.Trim(name, ".") == "" {
			t.Errorf("%s: %s", address, record.DirOf("d", target))
		}
	}
}
