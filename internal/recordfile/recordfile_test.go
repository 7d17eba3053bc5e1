// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package recordfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/internal/atomicfile"
	"github.com/spanprof/spanprof/internal/recordfile"
)

const (
	description = `{"kind":"cpu","start":"2026-11-22T10:00:00Z","service":"shop"}`
	body        = "\x1f\x8bpprof\nbytes \x00\xff"
)

// write returns the file of a record.
func write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	size, err := recordfile.Write(dir, "a", []byte(description), []byte(body), atomicfile.Machine)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "a")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() != size {
		t.Errorf("Write says %d bytes, the file has %d", size, info.Size())
	}
	return file
}

func wantDamaged(t *testing.T, file, what string) {
	t.Helper()
	d, b, err := recordfile.Read(file)
	damaged, ok := errors.AsType[*recordfile.DamagedError](err)
	if !ok || damaged.File != file {
		t.Errorf("%s: Read = %q, %q, %v, want a DamagedError", what, d, b, err)
	}
}

func TestRead(t *testing.T) {
	file := write(t)
	d, b, err := recordfile.Read(file)
	if err != nil || string(d) != description || string(b) != body {
		t.Errorf("Read = %q, %q, %v", d, b, err)
	}
	if _, _, err := recordfile.Read(file + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read of a file that is not there: %v", err)
	}
}

// No change of a single bit, no end and no addition goes unseen.
func TestReadSeesDamage(t *testing.T) {
	file := write(t)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damage := func(what string, data []byte) {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		wantDamaged(t, file, what)
	}
	for i := range 8 * len(whole) {
		flipped := append([]byte(nil), whole...)
		flipped[i/8] ^= 1 << (i % 8)
		damage(fmt.Sprintf("bit %d flipped", i), flipped)
	}
	for n := range len(whole) {
		damage(fmt.Sprintf("cut to %d bytes", n), whole[:n])
	}
	damage("one byte more", append(append([]byte(nil), whole...), 0))
	damage("another version", []byte(strings.Replace(string(whole), "spanprof 1 ", "spanprof 2 ", 1)))
	damage("other spelling", []byte(strings.Replace(string(whole), "spanprof 1 ", "spanprof 01 ", 1)))
	damage("no record", []byte("{}\n"))
}

func TestSetAside(t *testing.T) {
	file := write(t)
	aside, err := recordfile.SetAside(file)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(aside); err != nil || !strings.HasSuffix(string(data), body) {
		t.Errorf("%s holds %q, %v", aside, data, err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there still: %v", err)
	}
	if _, err := recordfile.SetAside(file); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("spanprof 1 00000000 0 0\n"))
	f.Add([]byte("spanprof 1 00000000 9223372036854775807 1\nx"))
	f.Add([]byte("spanprof 1 00000000 -1 2\nx"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "a")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if d, b, err := recordfile.Read(file); err == nil && len(d)+len(b) >= len(data) {
			t.Errorf("Read = %q, %q of %q", d, b, data)
		}
	})
}
