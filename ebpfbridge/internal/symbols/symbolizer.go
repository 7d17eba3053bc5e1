// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package symbols names functions of C, C++ and Rust in the files that processes have mapped.
package symbols

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/google/pprof/profile"
	"github.com/ianlancetaylor/demangle"
)

// Symbolizer finds functions in files. It reads a file once. The zero value is ready. It is
// not safe for concurrent use.
type Symbolizer struct {
	files map[string]table // by device, inode, time of change and build id
	bytes int              // of files
	// The rest is for the current message.
	ctx       context.Context
	found     map[processFile]string // the key in files, "" if missing
	read      map[int64]int          // bytes by process, and of all as process 0
	nameBytes int
	// Unreadable is true if a file may not be read, or exceeds a bound.
	Unreadable bool
}

// processFile is an agent's description of a file: its name, its GNU or Go build id, "" if it
// has none, and a process that has mapped it.
type processFile struct {
	base, buildID string
	pid           int64
}

const (
	maxRead    = 512 << 20 // bytes for each message, and a quarter for one process
	searchCost = 256 << 10 // bytes that take as long as a search in a process
	maxNamed   = 32 << 20  // bytes of functions' names, for each message
	maxName    = 4096      // bytes of a file's or function's name, mangled
	maxShown   = 512       // bytes of a function's name
	maxFiles   = 4         // opened in a search
	maxNotes   = 16        // in a file
	maxHeaders = 1024      // of sections and segments: executables have less than 100
	// maxTables bounds symbols, names, and all tables but the last, in bytes. A Go program
	// of 100 MB has 15 MB.
	maxTables = 64 << 20
)

// table is the functions of a file by address.
type table struct {
	functions []function
	names     []byte // the string tables of the file
	// starts are where functions begin, by .eh_frame_hdr: also in a stripped file.
	starts  []uint64
	full    bool   // the file has a table of all symbols
	buildID string // GNU, "" if absent
}

// function has no copy of its name: in a hostile file, names overlap. It takes as many
// bytes as an ELF symbol.
type function struct {
	start, end uint64
	name       uint32 // where it begins in names
}

// Begin must be called before each message. No file is read after the end of ctx.
func (s *Symbolizer) Begin(ctx context.Context) {
	*s = Symbolizer{files: s.files, bytes: s.bytes, ctx: ctx, found: map[processFile]string{}, read: map[int64]int{}}
}

// Name returns the function at an address of a process's file, as ELF counts it. A function
// of a stripped file is named by the file and its first address.
func (s *Symbolizer) Name(pid int64, m *profile.Mapping, address uint64) (string, bool) {
	if pid <= 0 || len(m.File) > maxName || len(m.BuildID) > maxName {
		return "", false
	}
	f := processFile{path.Base(m.File), m.BuildID, pid}
	switch f.base {
	case "linux-vdso.1.so", "[vdso]", "vdso": // the kernel's code for clocks is no file
		return "[vdso]", true
	}
	key, ok := s.found[f]
	if !ok {
		if s.ctx.Err() != nil || s.read[pid] >= maxRead/4 || s.read[0] >= maxRead {
			s.Unreadable = true
			return "", false
		}
		s.count(pid, searchCost)
		key = s.find(f)
		s.found[f] = key
	}
	name := s.files[key].at(address)
	s.nameBytes += len(name)
	s.Unreadable = s.Unreadable || s.nameBytes > maxNamed
	switch start := s.files[key].start(address); {
	case s.nameBytes > maxNamed:
		return "", false
	case name != "":
		return shown(name), true
	case start > 0:
		return fmt.Sprintf("%.256s+%#x", f.base, start), true
	}
	return "", false
}

// shown returns a name for people. Of a long one it keeps the end, which differs most.
func shown(name string) string {
	if len(name) < maxName {
		name = demangle.Filter(name, demangle.NoParams, demangle.MaxLength(12))
	}
	if cut := len(name) - maxShown; cut > 0 {
		name = "..." + name[cut+3:]
	}
	return name
}

func (s *Symbolizer) count(pid int64, bytes int) {
	s.read[pid] += bytes
	s.read[0] += bytes
}

// add returns the key if the agent means this file, else "".
func (s *Symbolizer) add(key string, want processFile, f io.ReaderAt) string {
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
func (t table) size() int {
	return maxName + elf.Sym64Size*cap(t.functions) + cap(t.names) + 8*cap(t.starts)
}

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

// start returns where the function at an address begins, or 0.
func (t table) start(address uint64) uint64 {
	const longest = 1 << 20
	i, found := slices.BinarySearch(t.starts, address)
	if !found {
		i--
	}
	if i < 0 || address-t.starts[i] > longest {
		return 0
	}
	return t.starts[i]
}
