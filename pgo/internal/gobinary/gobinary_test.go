// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package gobinary_test

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/spanprof/spanprof/internal/loudskip"
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
			names, err := gobinary.Functions(path)
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

func TestNotGo(t *testing.T) {
	path, err := exec.LookPath("ls")
	if err != nil {
		loudskip.Test(t, err.Error())
	}
	if _, err := gobinary.Functions(path); !errors.Is(err, gobinary.ErrNoTable) && !errors.Is(err, gobinary.ErrNotExecutable) {
		t.Errorf("%s: %v", path, err)
	}
}

// Broken tables end nothing and take no memory.
func FuzzTable(f *testing.F) {
	table := gobinary.Table(binary.LittleEndian, 8, "main.main", "runtime.main")
	f.Add(table)
	f.Add(gobinary.Table(binary.BigEndian, 4, "main.main", "runtime.main"))
	f.Add(table[:20])
	f.Fuzz(func(_ *testing.T, data []byte) { gobinary.FindTable(data) })
}

func TestTable(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, size := range []int{4, 8} {
			data := append([]byte("\xf1\xff\xff\xff\xff\xff\xff\xf1 not here"), gobinary.Table(order, size, "main.main", "", "runtime.main")...)
			names := gobinary.FindTable(data)
			if _, ok := names["main.main"]; !ok || len(names) != 2 {
				t.Errorf("%v, words of %d bytes: got %v", order, size, names)
			}
		}
	}
	if names := gobinary.FindTable(gobinary.Table(binary.LittleEndian, 8, "main.main")); names != nil {
		t.Errorf("a table without the runtime: %v", names)
	}
}
