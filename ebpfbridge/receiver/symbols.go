// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/hex"
	"path"
	"slices"

	"github.com/google/pprof/profile"
)

// symbols has the functions of the files that processes have mapped. It reads a file once,
// for the first address in it.
type symbols struct {
	max   int // functions
	files map[processFile]table
	total int
	// missing could not be read for the current message: another process may have them.
	missing map[processFile]bool
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
	maxMissing  = 256  // attempts to read files, for each message
	maxFileName = 4096 // bytes, as in Linux
)

// table is the functions of a file by address.
type table []function

type function struct {
	start, end uint64
	name       string
}

// begin must be called before each message.
func (s *symbols) begin() {
	s.missing, s.unreadable = map[processFile]bool{}, false
	if s.files == nil {
		s.files = map[processFile]table{}
	}
}

// name returns the function at an address of a process's file, as ELF counts it.
func (s *symbols) name(pid int64, m *profile.Mapping, address uint64) (string, bool) {
	if pid <= 0 || len(m.File) > maxFileName || len(m.BuildID) > maxFileName {
		return "", false
	}
	f := processFile{file{path.Base(m.File), m.BuildID}, pid}
	key := f
	if f.buildID != "" {
		key.pid = 0
	}
	t, ok := s.files[key]
	if !ok {
		if s.missing[f] || len(s.missing) > maxMissing {
			return "", false
		}
		var denied bool
		if t, denied = readMapped(pid, f.file); denied {
			s.unreadable = true
		}
		if t == nil {
			s.missing[f] = true
			return "", false
		}
		if t = t[:min(len(t), s.max)]; s.total+len(t) > s.max {
			clear(s.files) // files in use are read again
			s.total = 0
		}
		s.files[key] = t
		s.total += len(t)
	}
	return t.at(address)
}

func (t table) at(address uint64) (string, bool) {
	i, found := slices.BinarySearchFunc(t, address, func(f function, a uint64) int { return cmp.Compare(f.start, a) })
	if !found {
		i--
	}
	if i < 0 || address >= t[i].end {
		return "", false
	}
	return t[i].name, true
}

// functions reads the functions of an ELF file. It returns nil if the agent means another.
func (want file) functions(f *elf.File) table {
	if !sound(f) || !want.matches(f) {
		return nil
	}
	all, _ := f.Symbols() // none in a stripped file
	dynamic, _ := f.DynamicSymbols()
	var t table
	for _, s := range append(all, dynamic...) {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Value != 0 && s.Size != 0 {
			t = append(t, function{s.Value, s.Value + s.Size, s.Name})
		}
	}
	slices.SortFunc(t, func(a, b function) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.name, b.name)) })
	return slices.CompactFunc(t, func(a, b function) bool { return a.start == b.start })
}

// maxSection bounds the sections that are read, in bytes. A Go program of 100 MB has one
// of 10 MB.
const maxSection = 64 << 20

// sound reports whether a file's symbols can be read without harm: a section may claim
// any size, and be packed.
func sound(f *elf.File) bool {
	return !slices.ContainsFunc(f.Sections, func(s *elf.Section) bool {
		switch s.Type {
		case elf.SHT_SYMTAB, elf.SHT_DYNSYM, elf.SHT_STRTAB, elf.SHT_NOTE, elf.SHT_GNU_VERSYM, elf.SHT_GNU_VERNEED, elf.SHT_GNU_VERDEF:
			return s.Size > maxSection || s.Flags&elf.SHF_COMPRESSED != 0
		}
		return false
	})
}

// matches reports whether an ELF file has the build id. Without a build id it is true: the
// name is enough.
func (want file) matches(f *elf.File) bool {
	if want.buildID == "" {
		return true
	}
	// An ELF note has the lengths of its name and content, its type, name and content.
	const name = 12 + len("GNU\x00") // "Go\x00\x00" is as long
	for section, text := range map[string]func([]byte) string{
		".note.gnu.build-id": hex.EncodeToString,
		".note.go.buildid":   func(b []byte) string { return string(bytes.TrimRight(b, "\x00")) },
	} {
		if s := f.Section(section); s != nil {
			if note, err := s.Data(); err == nil && len(note) > name && text(note[name:]) == want.buildID {
				return true
			}
		}
	}
	return false
}
