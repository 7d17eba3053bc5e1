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

// symbols knows the functions of the files that this process has mapped. It reads a
// file when it is first asked for it.
type symbols struct {
	files map[file]table // without functions where there are none
	total int
}

// file is what an agent says of a file: its name, and its GNU or Go build id if it
// has one.
type file struct {
	base, buildID string
}

// Bounds on what is kept. A Go program of 100 MB has about 200,000 functions.
const (
	maxFiles     = 64
	maxFileName  = 4096 // bytes, as in Linux
	maxFunctions = 400_000
)

// table is the functions of a file by address.
type table []function

type function struct {
	start, end uint64
	name       string
}

// name returns the function at an address of a file, as ELF counts it.
func (s *symbols) name(m *profile.Mapping, address uint64) (string, bool) {
	if len(m.File) > maxFileName || len(m.BuildID) > maxFileName {
		return "", false
	}
	f := file{path.Base(m.File), m.BuildID}
	t, ok := s.files[f]
	if !ok {
		if len(s.files) >= maxFiles {
			return "", false
		}
		if s.files == nil {
			s.files = map[file]table{}
		}
		t = readMapped(f)
		if s.total+len(t) > maxFunctions {
			t = nil
		}
		s.total += len(t)
		s.files[f] = t
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

// functions reads those of an ELF file, if it is the one that the agent means.
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

// maxSection is how much of a section is read, in bytes. That of a Go program of 100 MB
// has 10 MB.
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

// matches reports whether an ELF file has the build id. Without one, the name has to
// do.
func (want file) matches(f *elf.File) bool {
	if want.buildID == "" {
		return true
	}
	// An ELF note is the lengths of its name and content, its type, name and content.
	const name = 12 + len("GNU\x00") // which is as long as "Go\x00\x00"
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
