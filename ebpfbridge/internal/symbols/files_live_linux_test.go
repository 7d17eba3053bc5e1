// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package symbols

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

// mapProgram builds a program with main.main, and maps it.
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
	var s Symbolizer
	s.Begin(t.Context())
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
		name, _ := s.Name(int64(os.Getpid()), &profile.Mapping{File: test.file, BuildID: test.buildID}, test.address)
		if (name == "main.main") != test.want {
			t.Errorf("%s with build id %q: %#x is %q", test.file, test.buildID, test.address, name)
		}
	}
}

func TestHostSymbols(t *testing.T) {
	program := mapProgram(t)
	f, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	want, _ := new(Symbolizer).parse(f, "")
	start := want.functions[0].start
	out, err := exec.CommandContext(t.Context(), "go", "tool", "buildid", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(out))
	var s Symbolizer
	s.Begin(t.Context())
	own := int64(os.Getpid())
	for _, test := range []struct {
		pid     int64
		buildID string
		want    bool
	}{
		{1 << 30, id, false}, // a process that has ended
		{own, "", true},
		{own, id, true},
		{1 << 30, id, false}, // not of another process
		{own, "00ff", false},
		{0, "", false},
		{-1, "", false},
	} {
		name, ok := s.Name(test.pid, &profile.Mapping{File: "/any/program", BuildID: test.buildID}, start)
		if ok != test.want || ok && name != want.at(start) {
			t.Errorf("process %d, build id %q: %q, %v", test.pid, test.buildID, name, ok)
		}
	}
	if n := len(s.files); n != 2 || s.bytes != 2*want.size() {
		t.Errorf("%d files with %d bytes, want 2 of %d", n, s.bytes, want.size())
	}
}

// TestReadIn reads what a hostile process may have put in the place of its file.
func TestReadIn(t *testing.T) {
	dir := t.TempDir()
	program := mapProgram(t)
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "text"), []byte("\x7fELF and no more"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for _, name := range []string{"pipe", "link", "text", "none", ".", "../x"} {
		var s Symbolizer
		s.Begin(t.Context())
		if key := s.addIn(processFile{file{base: name}, 1}, root, name); key != "" {
			t.Errorf("%s: got file %q, want none", name, key)
		}
	}
}
