// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"strconv"
	"testing"

	"github.com/google/pprof/profile"
)

func TestSymbolsOfVDSO(t *testing.T) {
	vdso := file{base: "linux-vdso.1.so"}
	table := readMapped(vdso)
	if table == nil {
		t.Skip("this process has no vDSO")
	}
	var s symbols
	if got, ok := s.name(&profile.Mapping{File: vdso.base}, table[0].start); !ok || got != table[0].name {
		t.Errorf("got %q, want %q", got, table[0].name)
	}
	t.Log(table[0].name)
}

// TestSymbolsOfOthers asks for files that this process does not have.
func TestSymbolsOfOthers(t *testing.T) {
	var s symbols
	for _, file := range []string{"", "/", "..", "../../../etc/passwd", "no-such-file", "[heap]", "[stack]"} {
		if got, ok := s.name(&profile.Mapping{File: file}, 1); ok {
			t.Errorf("%q: %q", file, got)
		}
	}
	for i := range 2 * maxFiles {
		s.name(&profile.Mapping{File: strconv.Itoa(i)}, 1)
	}
	if len(s.files) > maxFiles {
		t.Errorf("%d files, want at most %d", len(s.files), maxFiles)
	}
}
