// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package static

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/spanprof/spanprof/internal/loudskip"
)

// TestScripts runs the tests of the page's script, which are in testdata, with plain node.
func TestScripts(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		loudskip.Test(t, "no node in PATH: install the package nodejs, version 20 or later, to test the page's script")
	}
	// Where a package.json says so, node takes each file for a module, as browsers do.
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type":"module"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	tests, err := filepath.Glob(filepath.Join(dir, "testdata", "*.test.js"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("there are %d files of tests, error %v", len(tests), err)
	}
	cmd := exec.CommandContext(t.Context(), node, append([]string{"--test", "--test-reporter=tap"}, tests...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TZ=UTC")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
