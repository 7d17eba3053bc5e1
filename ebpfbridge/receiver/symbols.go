// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"io"
	"path"
	"slices"

	"github.com/google/pprof/profile"
)

// symbols finds functions in the files that processes have mapped. It reads a file once.
type symbols struct {
	files map[string]table // by device, inode, time of change and build id
	bytes int              // of files
	// The rest is for the current message.
	ctx       context.Context
	found     map[processFile]string // the key in files, "" if missing
	read      map[int64]int          // bytes by process, and of all as process 0
	nameBytes int
	// unreadable is true if a file may not be read, or exceeds a bound.
	unreadable bool
}

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
	maxRead    = 512 << 20 // bytes for each message, and a quarter for one process
	searchCost = 256 << 10 // bytes that take as long as a search in a process
	maxNamed   = 32 << 20  // bytes of functions' names, for each message
	maxName    = 4096      // bytes of a file's or function's name
	maxFiles   = 4         // opened in a search
	maxNotes   = 16        // in a file
	maxHeaders = 1024      // of sections: executables have less than 100
	// maxTables bounds symbols, names, and all tables but the last, in bytes. A Go program
	// of 100 MB has 15 MB.
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
func (s *symbols) begin(ctx context.Context) {
	*s = symbols{files: s.files, bytes: s.bytes, ctx: ctx, found: map[processFile]string{}, read: map[int64]int{}}
}

// name returns the function at an address of a process's file, as ELF counts it.
func (s *symbols) name(pid int64, m *profile.Mapping, address uint64) (string, bool) {
	if pid <= 0 || len(m.File) > maxName || len(m.BuildID) > maxName {
		return "", false
	}
	f := processFile{file{path.Base(m.File), m.BuildID}, pid}
	key, ok := s.found[f]
	if !ok {
		if s.ctx.Err() != nil || s.read[pid] >= maxRead/4 || s.read[0] >= maxRead {
			s.unreadable = true
			return "", false
		}
		s.count(pid, searchCost)
		key = s.find(f)
		s.found[f] = key
	}
	name := s.files[key].at(address)
	s.nameBytes += len(name)
	s.unreadable = s.unreadable || s.nameBytes > maxNamed
	return name, name != "" && s.nameBytes <= maxNamed
}

func (s *symbols) count(pid int64, bytes int) {
	s.read[pid] += bytes
	s.read[0] += bytes
}

// add returns the key if the agent means this file, else "".
func (s *symbols) add(key string, want processFile, f io.ReaderAt) string {
	if _, ok := s.files[key]; ok {
		return key
	}
	t, ok := s.parse(f, want.buildID)
	if !ok {
		return ""
	}
	s.count(want.pid, t.size())
	if s.files == nil || s.bytes+t.size() > maxTables {
		s.files, s.found, s.bytes = map[string]table{}, map[processFile]string{}, 0 // files in use are read again
	}
	s.files[key] = t
	s.bytes += t.size()
	return key
}

// size returns about how many bytes a table takes, with its key.
func (t table) size() int { return maxName + elf.Sym64Size*cap(t.functions) + cap(t.names) }

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

// parse reads the functions of an ELF file: of 64 bits and little-endian, as agents support
// no others. ok is whether it has the build id. Package debug/elf would copy each name.
func (s *symbols) parse(f io.ReaderAt, buildID string) (t table, ok bool) {
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
		if ok || notes == maxNotes || elf.SectionType(s.Type) != elf.SHT_NOTE {
			continue
		}
		notes++
		// The lengths of its name and content, its type and its name, then the build id.
		n, _ := f.ReadAt(note[:min(s.Size, maxName)], int64(s.Off))
		id := note[min(n, 12+len("GNU\x00")):n] // "Go\x00\x00" is as long
		ok = hex.EncodeToString(id) == buildID || string(bytes.TrimRight(id, "\x00")) == buildID
	}
	for _, kind := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} { // a file has one of each
		i := slices.IndexFunc(sections, func(s elf.Section64) bool { return elf.SectionType(s.Type) == kind })
		if ok && i >= 0 && int(sections[i].Link) < len(sections) && !t.add(f, sections[i], sections[sections[i].Link]) {
			s.unreadable = true
		}
	}
	slices.SortFunc(t.functions, func(a, b function) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.name, b.name)) })
	t.functions = slices.CompactFunc(t.functions, func(a, b function) bool { return a.start == b.start })
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
