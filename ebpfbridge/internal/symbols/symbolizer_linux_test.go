// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"golang.org/x/sys/unix"
)

var malloc = []elf.Sym64{{Name: 1, Info: uint8(elf.STT_FUNC), Value: 10, Size: 2}}

func unchanged(*elf.Header64, []elf.Section64) {}

// program writes a file with one function to a directory.
func program(t *testing.T, function string) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "program"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if _, err := elfFile("\x00"+function+"\x00", malloc, unchanged).WriteTo(f); err != nil {
		t.Fatal(err)
	}
	return f
}

// The symbolizer finds files that a process has mapped, by name and build id.
func TestName(t *testing.T) {
	f := program(t, "malloc")
	mem, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	s := Symbolizer{files: map[string]table{"another": {}}, bytes: maxTables} // no room for another
	s.Begin(t.Context())
	own := int64(os.Getpid())
	for _, tt := range []struct {
		pid           int64
		file, buildID string
		address       uint64
		want          string
	}{
		{1 << 30, "program", "abcd", 10, ""}, // a process that has ended
		{own, "program", "abcd", 10, "malloc"},
		{1 << 30, "program", "abcd", 10, ""}, // not of another process
		{own, "/elsewhere/program", "abcd", 11, "malloc"},
		{own, "program", "abcd", 12, ""},
		{own, "program", "abcd", 9, ""},
		{own, "program", "abcd", ^uint64(0), ""},
		{own, "program", "00ff", 10, ""},
		{0, "program", "abcd", 10, ""},
		{-1, "program", "abcd", 10, ""},
		{own, "linux-vdso.1.so", "", 10, "[vdso]"},
		{own, "libvdso.so", "", 10, ""},
	} {
		if name, ok := s.Name(tt.pid, &profile.Mapping{File: tt.file, BuildID: tt.buildID}, tt.address); name != tt.want || ok != (name != "") {
			t.Errorf("process %d, %s with build id %q: %#x is %q, want %q", tt.pid, tt.file, tt.buildID, tt.address, name, tt.want)
		}
	}
	if len(s.files) != 1 || s.bytes > maxName+64 {
		t.Errorf("got %d files of %d bytes, want 1", len(s.files), s.bytes)
	}
}

// A hostile process may have put anything in the place of its file.
func TestReadIn(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(
		unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		os.Symlink(program(t, "malloc").Name(), filepath.Join(dir, "link")),
		os.WriteFile(filepath.Join(dir, "text"), []byte("\x7fELF and no more"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for _, name := range []string{"pipe", "link", "text", "none", ".", "../x"} {
		var s Symbolizer
		s.Begin(t.Context())
		if key := s.addIn(processFile{base: name, pid: 1}, root, name); key != "" {
			t.Errorf("%s: got file %q, want none", name, key)
		}
	}
}

// Files that this process does not have give no names.
func TestSymbolsOfOthers(t *testing.T) {
	var s Symbolizer
	s.Begin(t.Context())
	own := int64(os.Getpid())
	for _, file := range []string{"", "/", "..", "../../../etc/passwd", "no-such-file", "[heap]", "[stack]"} {
		if got, ok := s.Name(own, &profile.Mapping{File: file}, 1); ok {
			t.Errorf("%q: %q", file, got)
		}
	}
	// A process gets a quarter of a message's reads. The message's context ends them too.
	const most = maxRead / 4 / searchCost
	ended, end := context.WithCancel(t.Context())
	end()
	for _, tt := range []struct {
		ctx         context.Context
		pids, least int
		most        int
	}{{t.Context(), 1, most / 2, most}, {t.Context(), 8, 2 * most, 4 * most}, {ended, 1, 0, 0}} {
		s.Begin(tt.ctx)
		for i := range tt.pids * 2 * most {
			s.Name(own+int64(i%tt.pids), &profile.Mapping{File: strconv.Itoa(i)}, 1)
		}
		if n := len(s.found); n < tt.least || n > tt.most || !s.Unreadable {
			t.Errorf("%d processes: got %d reads, unreadable %v, want %d to %d", tt.pids, n, s.Unreadable, tt.least, tt.most)
		}
	}
	if len(s.files) > 0 {
		t.Errorf("got %d files", len(s.files))
	}
}

// Files with the same name and build id do not share functions.
func TestSymbolsOfTwoFiles(t *testing.T) {
	var s Symbolizer
	s.Begin(t.Context())
	want := processFile{"x", "abcd", 1}
	for i, name := range []string{"forged", "malloc", "forged"} {
		key := s.addFile(want, program(t, name), nil)
		if got := s.files[key].at(10); got != name || len(s.files) != i+1 {
			t.Errorf("got %q in %d files, want %q", got, len(s.files), name)
		}
	}
}

// elfFile writes a file with a note, symbols and their names.
func elfFile(names string, symbols []elf.Sym64, change func(*elf.Header64, []elf.Section64)) *bytes.Reader {
	const note = "\x04\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00GNU\x00\xab\xcd"
	const ofGo = "\x04\x00\x00\x00\x04\x00\x00\x00\x04\x00\x00\x00Go\x00\x00go-id\x00"
	h := elf.Header64{Shoff: 64, Shnum: 5}
	copy(h.Ident[:], "\x7fELF\x02\x01")
	at := uint64(6 * 64)
	sections := []elf.Section64{
		{Type: uint32(elf.SHT_NOTE), Off: at, Size: uint64(len(note))},
		{Type: uint32(elf.SHT_SYMTAB), Off: at + uint64(len(note)+len(names)), Size: uint64(24 * len(symbols)), Link: 2},
		{Type: uint32(elf.SHT_STRTAB), Off: at + uint64(len(note)), Size: uint64(len(names))},
		{},
		{Type: uint32(elf.SHT_NOTE), Off: at + uint64(len(note)+len(names)+24*len(symbols)), Size: uint64(len(ofGo))},
	}
	change(&h, sections)
	return written(h, sections, []byte(note+names), symbols, []byte(ofGo))
}

func written(parts ...any) *bytes.Reader {
	var b bytes.Buffer
	for _, part := range parts {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	return bytes.NewReader(b.Bytes())
}

func TestELF(t *testing.T) {
	symbol := func(name uint32, kind elf.SymType, start uint64) elf.Sym64 {
		return elf.Sym64{Name: name, Info: uint8(kind), Value: start, Size: 1}
	}
	list := []elf.Sym64{symbol(3, elf.STT_FUNC, 20), symbol(1, elf.STT_FUNC, 10), symbol(3, elf.STT_FUNC, 10), symbol(1, elf.STT_OBJECT, 30), symbol(99, elf.STT_FUNC, 40), symbol(1, elf.STT_FUNC, 0)}
	for name, tt := range map[string]struct {
		buildID string
		change  func(*elf.Header64, []elf.Section64)
		want    string // the names at 10 and 20
	}{
		"any file":         {"", unchanged, "a bc"},
		"its build id":     {"abcd", unchanged, "a bc"},
		"its Go build id":  {"go-id", unchanged, "a bc"},
		"another build id": {"abce", unchanged, " "},
		"dynamic symbols":  {"", func(_ *elf.Header64, s []elf.Section64) { s[1].Type = uint32(elf.SHT_DYNSYM) }, "a bc"},
		"more names": {"", func(_ *elf.Header64, s []elf.Section64) {
			s[3] = s[1]
			s[3].Type = uint32(elf.SHT_DYNSYM)
			s[1].Size, s[1].Link = 0, 0
		}, "a bc"},
		"32 bits":           {"", func(h *elf.Header64, _ []elf.Section64) { h.Ident[elf.EI_CLASS] = byte(elf.ELFCLASS32) }, " "},
		"too many sections": {"", func(h *elf.Header64, _ []elf.Section64) { h.Shnum = 1 << 15 }, " "},
		"a note elsewhere":  {"abcd", func(_ *elf.Header64, s []elf.Section64) { s[0].Off = 1 << 63 }, " "},
		"no names":          {"", func(_ *elf.Header64, s []elf.Section64) { s[1].Link = 5 }, " "},
		"many names":        {"", func(_ *elf.Header64, s []elf.Section64) { s[2].Size = maxTables + 1 }, " "},
		"many symbols":      {"", func(_ *elf.Header64, s []elf.Section64) { s[1].Size = maxTables + 1 }, " "},
	} {
		var all Symbolizer
		table, _ := all.parse(elfFile("\x00a\x00bc\x00", list, tt.change), tt.buildID)
		if claims := strings.HasPrefix(name, "many"); all.Unreadable != claims {
			t.Errorf("%s: unreadable %v", name, all.Unreadable)
		}
		if got := table.at(10) + " " + table.at(20); got != tt.want || table.at(9)+table.at(11)+table.at(30)+table.at(40) != "" {
			t.Errorf("%s: got %q of %+v, want %q", name, got, table, tt.want)
		}
	}
}

// Names that overlap take no more memory than the file, and names in a message are bounded.
func TestOverlappingNames(t *testing.T) {
	list := make([]elf.Sym64, 10_000)
	for i := range list {
		list[i] = elf.Sym64{Name: uint32(i), Info: uint8(elf.STT_FUNC), Value: uint64(i + 1), Size: 1}
	}
	f := elfFile(strings.Repeat("x", 1<<20), list, unchanged)
	bomb, _ := new(Symbolizer).parse(f, "")
	if n := bomb.size(); len(bomb.functions) != len(list) || n > 2*int(f.Size()) {
		t.Errorf("got %d functions in %d bytes, want %d in about %d", len(bomb.functions), n, len(list), f.Size())
	}
	s := Symbolizer{files: map[string]table{"key": bomb}}
	for message := range 2 {
		s.Begin(t.Context())
		s.found[processFile{base: "bomb", pid: 1}] = "key"
		named := 0
		for i := range list {
			if name, ok := s.Name(1, &profile.Mapping{File: "bomb"}, uint64(i+1)); ok {
				named += len(name)
			}
		}
		if named != maxNamed/maxName*maxShown || !s.Unreadable {
			t.Errorf("message %d: got %d bytes of names, unreadable %v, want %d", message, named, s.Unreadable, maxNamed/maxName*maxShown)
		}
	}
}

// Names are for people. Of long ones the end stays.
func TestShown(t *testing.T) {
	for mangled, want := range map[string]string{
		"_ZN4shop4CartIdE5totalERKSt6vectorIdSaIdEE":     "shop::Cart<double>::total",
		"_RNvCs1234_7mycrate4main":                       "mycrate::main",
		"_ZN4core3fmt5write17h0123456789abcdefE":         "core::fmt::write",
		"malloc":                                         "malloc",
		strings.Repeat("x", maxShown):                    strings.Repeat("x", maxShown),
		"_Z" + strings.Repeat("x", maxShown) + "the end": "..." + strings.Repeat("x", maxShown-10) + "the end",
	} {
		if got := shown(mangled); got != want {
			t.Errorf("%s: got %q, want %q", mangled, got, want)
		}
	}
}

// stripped writes a file without symbols, with functions at 100 and 200.
func stripped(change func(programs []elf.Prog64, table []byte)) *bytes.Reader {
	h := elf.Header64{Shoff: 64, Phoff: 64, Phnum: 2}
	copy(h.Ident[:], "\x7fELF\x02\x01")
	table := []byte{1, 0x1b, 3, 0x3b, 0, 0, 0, 0, 2, 0, 0, 0}
	for _, start := range []int32{200, 100} {
		table = binary.LittleEndian.AppendUint32(table, uint32(start-1000)) // the segment is at 1000
		table = binary.LittleEndian.AppendUint32(table, 0)
	}
	programs := []elf.Prog64{{Type: uint32(elf.PT_LOAD)}, {Type: uint32(elf.PT_GNU_EH_FRAME), Off: 64 + 2*56, Vaddr: 1000, Filesz: uint64(len(table))}}
	change(programs, table)
	return written(h, programs, table)
}

// Functions of a stripped file have the name of the file.
func TestStripped(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(programs []elf.Prog64, table []byte)
		starts int
	}{
		"usual":           {func([]elf.Prog64, []byte) {}, 2},
		"another version": {func(_ []elf.Prog64, b []byte) { b[0] = 2 }, 0},
		"absolute":        {func(_ []elf.Prog64, b []byte) { b[3] = 3 }, 0},
		"cut off":         {func(p []elf.Prog64, _ []byte) { p[1].Filesz -= 5 }, 1},
		"endless":         {func(p []elf.Prog64, b []byte) { p[1].Filesz, b[11] = 1<<64-1, 0xff }, 0},
		"many functions":  {func(_ []elf.Prog64, b []byte) { b[11] = 0xff }, 2},
	} {
		of, ok := new(Symbolizer).parse(stripped(tt.change), "")
		if !ok || len(of.starts) != tt.starts {
			t.Errorf("%s: got %d functions, want %d", name, len(of.starts), tt.starts)
		}
	}
	of, _ := new(Symbolizer).parse(stripped(func([]elf.Prog64, []byte) {}), "")
	s := Symbolizer{files: map[string]table{"key": of}}
	s.Begin(t.Context())
	s.found[processFile{base: "bash", pid: 1}] = "key"
	for address, want := range map[uint64]string{99: "", 100: "bash+0x64", 199: "bash+0x64", 200: "bash+0xc8", 200 + 1<<20: "bash+0xc8", 201 + 1<<20: ""} {
		if got, _ := s.Name(1, &profile.Mapping{File: "/bin/bash"}, address); got != want {
			t.Errorf("at %d: got %q, want %q", address, got, want)
		}
	}
}

// A file without its symbols has them in another one, below its build id.
func TestDebugFile(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	if err := root.MkdirAll("usr/lib/debug/.build-id/ab", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cd", "ce"} { // the second one has another build id
		if err := os.Link(program(t, "malloc").Name(), filepath.Join(root.Name(), "usr/lib/debug/.build-id/ab", name+".debug")); err != nil {
			t.Fatal(err)
		}
	}
	for buildID, want := range map[string]string{"abcd": "malloc", "abce": "", "abff": "", "": "", "..": ""} {
		for _, full := range []bool{false, true} {
			var s Symbolizer
			s.Begin(t.Context())
			key := s.debugFile(processFile{base: "libc.so.6", pid: 1}, root, table{buildID: buildID, full: full})
			if got := s.files[key].at(10); full && key != "" || !full && got != want {
				t.Errorf("%q, full %t: got %q of %q, want %q", buildID, full, got, key, want)
			}
		}
	}
}
