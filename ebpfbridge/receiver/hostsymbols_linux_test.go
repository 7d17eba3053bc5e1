// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"debug/elf"
	"testing"
)

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
