// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"bufio"
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"io"
	"slices"
)

// parse reads the functions of an ELF file: of 64 bits and little-endian, as agents support
// no others. ok is whether it has the build id. Package debug/elf would copy each name.
func (s *Symbolizer) parse(f io.ReaderAt, buildID string) (t table, ok bool) {
	var h elf.Header64
	if binary.Read(io.NewSectionReader(f, 0, 64), binary.LittleEndian, &h) != nil || string(h.Ident[:elf.EI_VERSION]) != "\x7fELF\x02\x01" || h.Shnum > maxHeaders {
		return t, false
	}
	sections := make([]elf.Section64, h.Shnum)
	if binary.Read(io.NewSectionReader(f, int64(h.Shoff), maxTables), binary.LittleEndian, sections) != nil {
		return t, false
	}
	ok = buildID == "" // the name is enough
	note, notes := make([]byte, maxName), 0
	for _, s := range sections {
		if notes == maxNotes || elf.SectionType(s.Type) != elf.SHT_NOTE {
			continue
		}
		notes++
		// The lengths of its name and content, its type and its name, then the build id.
		n, _ := f.ReadAt(note[:min(s.Size, maxName)], int64(s.Off))
		id := note[min(n, 12+len("GNU\x00")):n] // "Go\x00\x00" is as long
		ok = ok || hex.EncodeToString(id) == buildID || string(bytes.TrimRight(id, "\x00")) == buildID
		if bytes.HasPrefix(note[min(n, 8):n], []byte("\x03\x00\x00\x00GNU")) {
			t.buildID = hex.EncodeToString(id)
		}
	}
	for _, kind := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} { // a file has one of each
		i := slices.IndexFunc(sections, func(s elf.Section64) bool { return elf.SectionType(s.Type) == kind })
		if !ok || i < 0 || int(sections[i].Link) >= len(sections) {
			continue
		}
		if !t.add(f, sections[i], sections[sections[i].Link]) {
			s.Unreadable = true
		}
		t.full = t.full || kind == elf.SHT_SYMTAB
	}
	slices.SortFunc(t.functions, func(a, b function) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.name, b.name)) })
	t.functions = slices.CompactFunc(t.functions, func(a, b function) bool { return a.start == b.start })
	if ok {
		t.addStarts(f, h)
	}
	return t, ok
}

// add reads the functions of a symbol table. It returns false, and adds nothing, beyond
// maxTables: sections may claim any size.
func (t *table) add(f io.ReaderAt, symbols, names elf.Section64) bool {
	if max(symbols.Size, names.Size) > maxTables || elf.Sym64Size*len(t.functions)+int(symbols.Size) > maxTables || len(t.names)+int(names.Size) > maxTables {
		return false
	}
	base := len(t.names)
	t.names = append(t.names, make([]byte, names.Size)...)
	_, _ = f.ReadAt(t.names[base:], int64(names.Off)) // what is missing is empty names
	t.functions = slices.Grow(t.functions, int(symbols.Size/elf.Sym64Size))
	in := bufio.NewReader(io.NewSectionReader(f, int64(symbols.Off), int64(symbols.Size)))
	for b := make([]byte, elf.Sym64Size); ; {
		if _, err := io.ReadFull(in, b); err != nil {
			return true
		}
		name, start, size := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
		if elf.ST_TYPE(b[4]) == elf.STT_FUNC && start != 0 && size != 0 && uint64(name) < names.Size {
			t.functions = append(t.functions, function{start, start + size, uint32(base) + name})
		}
	}
}

// addStarts reads where functions begin from the sorted table of .eh_frame_hdr, which strip
// leaves: pairs of a function's and its unwind data's offset from the table. Compilers write
// no other form (Linux Standard Base, exception frames).
func (t *table) addStarts(f io.ReaderAt, h elf.Header64) {
	programs := make([]elf.Prog64, min(h.Phnum, maxHeaders))
	if binary.Read(io.NewSectionReader(f, int64(h.Phoff), maxTables), binary.LittleEndian, programs) != nil {
		return
	}
	for _, p := range programs {
		if elf.ProgType(p.Type) != elf.PT_GNU_EH_FRAME || p.Filesz > maxTables/2 {
			continue
		}
		in := bufio.NewReader(io.NewSectionReader(f, int64(p.Off), int64(p.Filesz)))
		var head struct {
			Version, Frame, Count, Table byte
			_                            int32
			N                            uint32
		}
		// 4-byte offsets, the count as such, the table relative to the segment.
		if binary.Read(in, binary.LittleEndian, &head) != nil || head.Version != 1 || head.Count != 0x03 || head.Table != 0x3b {
			continue
		}
		for range min(uint64(head.N), p.Filesz/8) {
			var entry [8]byte
			if _, err := io.ReadFull(in, entry[:]); err != nil {
				break
			}
			t.starts = append(t.starts, p.Vaddr+uint64(int64(int32(binary.LittleEndian.Uint32(entry[:])))))
		}
	}
	slices.Sort(t.starts)
}
