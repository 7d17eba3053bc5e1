// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"bufio"
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"io"
	"path"
	"slices"

	"github.com/google/pprof/profile"
)

// symbols has the functions of the files that processes have mapped. It reads a file once,
// for the first address in it.
type symbols struct {
	files map[processFile]table
	bytes int // of files
	// missing could not be read for the current message: another process may have them.
	missing map[processFile]bool
	// reads and named are for the current message: files read, and bytes of names.
	reads, named int
	// unreadable is true if some may not be read.
	unreadable bool
}

// processFile is a file of a process, or of all processes if it has a build id.
type processFile struct {
	file
	pid int64
}

// file is an agent's description of a file: its name, and its GNU or Go build id, "" if it
// has none.
type file struct {
	base, buildID string
}

const (
	maxReads = 256      // files, for each message
	maxNamed = 32 << 20 // bytes of functions' names, for each message
	maxName  = 4096     // bytes of a file's or function's name
	// maxTables bounds a table, and all of them, in bytes. A Go program of 100 MB has 15 MB.
	maxTables = 64 << 20
)

// table is the functions of a file by address.
type table struct {
	functions []function
	names     []byte // the string tables of the file
}

// function has no copy of its name: in a hostile file, names overlap. It takes as many
// bytes as an ELF symbol.
type function struct {
	start, end uint64
	name       uint32 // where it begins in names
}

// begin must be called before each message.
func (s *symbols) begin() {
	*s = symbols{files: s.files, bytes: s.bytes, missing: map[processFile]bool{}}
}

// name returns the function at an address of a process's file, as ELF counts it.
func (s *symbols) name(pid int64, m *profile.Mapping, address uint64) (string, bool) {
	if pid <= 0 || len(m.File) > maxName || len(m.BuildID) > maxName {
		return "", false
	}
	f := processFile{file{path.Base(m.File), m.BuildID}, pid}
	key := f
	if f.buildID != "" {
		key.pid = 0
	}
	t, ok := s.files[key]
	if !ok {
		if s.missing[f] || s.reads >= maxReads {
			return "", false
		}
		s.reads++
		var denied bool
		if t, denied = readMapped(pid, f.file); denied {
			s.unreadable = true
		}
		if len(t.functions) == 0 {
			s.missing[f] = true
			return "", false
		}
		if s.files == nil || s.bytes+t.size() > maxTables {
			s.files, s.bytes = map[processFile]table{}, 0 // files in use are read again
		}
		s.files[key] = t
		s.bytes += t.size()
	}
	name := t.at(address)
	s.named += len(name)
	return name, name != "" && s.named <= maxNamed
}

// size returns about how many bytes a table takes, with its key.
func (t table) size() int { return maxName + elf.Sym64Size*cap(t.functions) + len(t.names) }

// at returns the name of the function at an address, or "".
func (t table) at(address uint64) string {
	i, found := slices.BinarySearchFunc(t.functions, address, func(f function, a uint64) int { return cmp.Compare(f.start, a) })
	if !found {
		i--
	}
	if i < 0 || address >= t.functions[i].end {
		return ""
	}
	name := t.names[t.functions[i].name:]
	name, _, _ = bytes.Cut(name[:min(len(name), maxName)], []byte{0})
	return string(name)
}

// read reads the functions of an ELF file: of 64 bits and little-endian, as agents support
// no others. It returns none if the agent means another file. Package debug/elf would
// copy each name.
func (want file) read(f io.ReaderAt) (t table) {
	var h elf.Header64
	if binary.Read(io.NewSectionReader(f, 0, 64), binary.LittleEndian, &h) != nil || string(h.Ident[:elf.EI_VERSION]) != "\x7fELF\x02\x01" {
		return table{}
	}
	sections := make([]elf.Section64, h.Shnum)
	if binary.Read(io.NewSectionReader(f, int64(h.Shoff), maxTables), binary.LittleEndian, sections) != nil {
		return table{}
	}
	matches := want.buildID == "" // the name is enough
	for _, s := range sections {
		switch elf.SectionType(s.Type) {
		case elf.SHT_NOTE:
			// The lengths of its name and content, its type and its name, then the build id.
			note := make([]byte, min(s.Size, maxName))
			n, _ := f.ReadAt(note, int64(s.Off))
			id := note[min(n, 12+len("GNU\x00")):n] // "Go\x00\x00" is as long
			matches = matches || hex.EncodeToString(id) == want.buildID || string(bytes.TrimRight(id, "\x00")) == want.buildID
		case elf.SHT_SYMTAB, elf.SHT_DYNSYM:
			if int(s.Link) < len(sections) {
				t.add(f, s, sections[s.Link])
			}
		}
	}
	if !matches {
		return table{}
	}
	slices.SortFunc(t.functions, func(a, b function) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.name, b.name)) })
	t.functions = slices.CompactFunc(t.functions, func(a, b function) bool { return a.start == b.start })
	return t
}

// add reads the functions of a symbol table. Nothing is added beyond maxTables: sections
// may claim any size.
func (t *table) add(f io.ReaderAt, symbols, names elf.Section64) {
	if max(symbols.Size, names.Size) > maxTables || t.size()+int(symbols.Size+names.Size) > maxTables {
		return
	}
	base := len(t.names)
	t.names = append(t.names, make([]byte, names.Size)...)
	_, _ = f.ReadAt(t.names[base:], int64(names.Off)) // what is missing is empty names
	t.functions = slices.Grow(t.functions, int(symbols.Size/elf.Sym64Size))
	in := bufio.NewReader(io.NewSectionReader(f, int64(symbols.Off), int64(symbols.Size)))
	for b := make([]byte, elf.Sym64Size); ; {
		if _, err := io.ReadFull(in, b); err != nil {
			return
		}
		name, start, size := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
		if elf.ST_TYPE(b[4]) == elf.STT_FUNC && start != 0 && size != 0 && uint64(name) < names.Size {
			t.functions = append(t.functions, function{start, start + size, uint32(base) + name})
		}
	}
}
