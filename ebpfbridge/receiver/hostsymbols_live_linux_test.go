// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package receiver

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"golang.org/x/sys/unix"
)

func TestHostSymbols(t *testing.T) {
	program := mapProgram(t)
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	want := file{base: "program"}.functions(f)
	out, err := exec.CommandContext(t.Context(), "go", "tool", "buildid", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(out))
	var s hostSymbols
	s.begin()
	own := int64(os.Getpid())
	for _, test := range []struct {
		pid     int64
		buildID string
		want    bool
	}{
		{1 << 30, id, false}, // a process that has ended
		{own, "", true},
		{own, id, true},
		{1 << 30, id, true}, // the same file, as its build id says
		{1 << 30, "", false},
		{own, "00ff", false},
		{0, "", false},
		{-1, "", false},
	} {
		name, ok := s.name(test.pid, &profile.Mapping{File: "/any/program", BuildID: test.buildID}, want[0].start)
		if ok != test.want || ok && name != want[0].name {
			t.Errorf("process %d, build id %q: %q, %v", test.pid, test.buildID, name, ok)
		}
	}
	if n := len(s.files); n != 2 || s.total != 2*len(want) {
		t.Errorf("%d files with %d functions, want 2 of %d", n, s.total, len(want))
	}
	for i := range 10 * int64(maxMissing) {
		s.name(1<<30+i, &profile.Mapping{File: "none"}, 1)
	}
	if len(s.missing) > maxMissing+1 {
		t.Errorf("%d attempts, want at most %d", len(s.missing), maxMissing)
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
		if table := (file{base: name}).readIn(root, name); table != nil {
			t.Errorf("%s: %d functions, want none", name, len(table))
		}
	}
}
