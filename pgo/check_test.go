// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo_test

import (
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/spanprof/spanprof/pgo"
)

func TestReadExecutableErrors(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut")
	if err := os.WriteFile(cut, []byte(elf.ELFMAG+"\x02\x01\x01"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		text:                         pgo.ErrNotExecutable,
		cut:                          pgo.ErrNotExecutable,
		filepath.Join(dir, "absent"): os.ErrNotExist,
	} {
		if _, err := pgo.ReadExecutable(path); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", path, err, want)
		}
	}
}
