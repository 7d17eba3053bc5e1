// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"debug/elf"
	"os"
	"strconv"
	"testing"

	"github.com/google/pprof/profile"
)

func TestSymbolsOfVDSO(t *testing.T) {
	vdso := file{base: "linux-vdso.1.so"}
	own := int64(os.Getpid())
	table, _ := readMapped(own, vdso)
	if table == nil {
		t.Skip("this process has no vDSO")
	}
	s := symbols{max: 1000}
	s.begin()
	if got, ok := s.name(own, &profile.Mapping{File: vdso.base}, table[0].start); !ok || got != table[0].name {
		t.Errorf("got %q, want %q", got, table[0].name)
	}
	t.Log(table[0].name)
}

// Files that this process does not have give no names.
func TestSymbolsOfOthers(t *testing.T) {
	s := symbols{max: 1000}
	s.begin()
	own := int64(os.Getpid())
	for _, file := range []string{"", "/", "..", "../../../etc/passwd", "no-such-file", "[heap]", "[stack]"} {
		if got, ok := s.name(own, &profile.Mapping{File: file}, 1); ok {
			t.Errorf("%q: %q", file, got)
		}
	}
	for i := range 2 * maxMissing {
		s.name(own, &profile.Mapping{File: strconv.Itoa(i)}, 1)
	}
	if len(s.files) > 0 || len(s.missing) > maxMissing+1 {
		t.Errorf("got %d files and %d attempts, want 0 and at most %d", len(s.files), len(s.missing), maxMissing+1)
	}
}

func TestUnsoundFiles(t *testing.T) {
	for _, header := range []elf.SectionHeader{
		{Type: elf.SHT_SYMTAB, Size: maxSection + 1},
		{Type: elf.SHT_STRTAB, Flags: elf.SHF_COMPRESSED},
		{Type: elf.SHT_NOTE, Size: 1 << 60},
	} {
		if sound(&elf.File{Sections: []*elf.Section{{SectionHeader: header}}}) {
			t.Errorf("%+v is sound", header)
		}
	}
	if !sound(&elf.File{Sections: []*elf.Section{{SectionHeader: elf.SectionHeader{Type: elf.SHT_PROGBITS, Size: 1 << 40, Flags: elf.SHF_COMPRESSED}}}}) {
		t.Error("a section that is not read makes a file unsound")
	}
}
