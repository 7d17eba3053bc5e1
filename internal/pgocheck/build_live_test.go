// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package pgocheck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A package main is built with its inlined functions, and the directory of its source is
// returned. Other packages are errors.
func TestBuild(t *testing.T) {
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-ldflags=-s")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod": "module example.com/tiny\n\ngo 1.26\n", "main.go": "package main\n\nvar n = 4\n\nfunc main() { println(hash(n)) }\n\nfunc hash(n int) int { return n*n - n/3 }\n",
		"lib/lib.go": "package lib\n", "bad/main.go": "package main\n\nfunc main() { x }\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e, source, err := Build(t.Context(), dir)
	if err != nil || source != dir || !e.names["main.hash"] || !e.names["main.main"] {
		t.Errorf("source %s, %v", source, err)
	}
	t.Chdir(dir)
	if e, source, err = Build(t.Context(), "."); err != nil || source != dir || !e.names["main.hash"] {
		t.Errorf("source %s, %v", source, err)
	}
	for pattern, want := range map[string]string{"./lib": "name one package main", "./bad": "go build . in", "./...": "name one package main", "./absent": "go list ./absent"} {
		if _, _, err := Build(t.Context(), pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", pattern, err, want)
		}
	}
}
