// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package receiver

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"golang.org/x/sys/unix"
)

// mapProgram builds a program, whose main.main is to be found, and maps it.
func mapProgram(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() { println(1) }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	mem, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	return program
}

func TestSymbolsOfFile(t *testing.T) {
	program := mapProgram(t)
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	all, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(s elf.Symbol) bool { return s.Name == "main.main" })
	if i < 0 {
		t.Fatal("no symbol main.main")
	}
	id, err := exec.CommandContext(t.Context(), "go", "tool", "buildid", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	start, end := all[i].Value, all[i].Value+all[i].Size
	var s symbols
	for _, test := range []struct {
		file, buildID string
		address       uint64
		want          bool
	}{
		{"program", "", start, true},
		{"/elsewhere/program", "", end - 1, true},
		{"program", "", end, false},
		{"program", "", start - 1, false},
		{"program", "", 0, false},
		{"program", "", ^uint64(0), false},
		{"program", strings.TrimSpace(string(id)), start, true},
		{"program", "00ff", start, false},
	} {
		name, _ := s.name(&profile.Mapping{File: test.file, BuildID: test.buildID}, test.address)
		if (name == "main.main") != test.want {
			t.Errorf("%s with build id %q: %#x is %q", test.file, test.buildID, test.address, name)
		}
	}
}
