// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package gobinary_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/spanprof/spanprof/pgo/internal/gobinary"
)

const program = `package main

var n = 4

func main() { println(double(n)) }

func double(n int) int { return n*n - n/3 }
`

// The names are found in what the linker makes for each system, stripped or not.
func TestFunctions(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": program, "go.mod": "module example.com/tiny\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ name, goos, goarch, flag string }{
		{"linux", "linux", "amd64", "-ldflags="},
		{"stripped", "linux", "amd64", "-ldflags=-s -w"},
		{"position independent", "linux", "amd64", "-buildmode=pie"},
		{"windows", "windows", "amd64", "-ldflags=-s"},
		{"macOS", "darwin", "arm64", "-ldflags=-s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tiny")
			cmd := exec.Command("go", "build", test.flag, "-o", path, ".")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0", "GOOS="+test.goos, "GOARCH="+test.goarch)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			names, err := gobinary.Functions(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			// double is there as inlined code alone.
			for _, want := range []string{"main.main", "main.double", "runtime.mallocgc"} {
				if _, ok := names[want]; !ok {
					t.Errorf("%s is missing among %d names", want, len(names))
				}
			}
			if _, ok := names["main.triple"]; ok || len(names) > 20000 {
				t.Errorf("%d names", len(names))
			}
		})
	}
}
