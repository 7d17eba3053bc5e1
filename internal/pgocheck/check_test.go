// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgocheck

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/pprof/profile"
)

// calling returns a profile with n samples of each callee. A pair of names is a caller and
// its callee.
func calling(n int64, pairs ...string) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	locate := func(name string) *profile.Location {
		for _, l := range p.Location {
			if l.Line[0].Function.Name == name {
				return l
			}
		}
		f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, StartLine: 10}
		l := &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f, Line: 13}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		return l
	}
	for pair := range slices.Chunk(pairs, 2) {
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{locate(pair[1]), locate(pair[0])}, Value: []int64{n}})
	}
	return p
}

func executable(names ...string) *Executable {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
	}
	return newExecutable(all)
}

func TestCheck(t *testing.T) {
	p := calling(100, "main.serve", "main.hash", "main.serve", "main.gone", "main.gone", "a/log.Print", "main.serve", "b/log.Print")
	got, err := executable("main.serve", "main.hash", "b/log.Print").Check(p)
	if err != nil {
		t.Fatal(err)
	}
	want := []Missing{{"main.gone", 0.25, 0.5}, {"a/log.Print", 0.25, 0.25}}
	if got.Hot != 5 || got.Self != 0.5 || !slices.Equal(got.Missing, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, bad := range []*profile.Profile{calling(1), {SampleType: []*profile.ValueType{{Type: "inuse_space", Unit: "bytes"}}}} {
		if got, err := executable().Check(bad); err == nil {
			t.Errorf("got %+v", got)
		}
	}
}

// A generic function is found by its types, and without them.
func TestGeneric(t *testing.T) {
	e := executable("main.Map[go.shape.int].func1", "main.plain", "[", "]x[")
	for name, want := range map[string]bool{
		"main.Map[go.shape.int].func1": true, "main.Map[...].func1": true, "main.Map[go.shape.string].func1": false, "main.plain": true, "[": true, "": false,
	} {
		if e.names[name] != want {
			t.Errorf("%s: got %v, want %v", name, !want, want)
		}
	}
}

// table returns a table of functions as the linker writes it.
func table(order binary.AppendByteOrder, size int, names ...string) []byte {
	data := append(order.AppendUint32(nil, 0xfffffff1), 0, 0, 1, byte(size))
	text := append([]byte{0}, bytes.Join(func() (all [][]byte) {
		for _, name := range names {
			all = append(all, []byte(name))
		}
		return all
	}(), []byte{0})...)
	begin := uint64(8 + words*size)
	for i := range words {
		word := map[int]uint64{wordNames: begin, wordUnits: begin + uint64(len(text))}[i]
		if size == 8 {
			data = order.AppendUint64(data, word)
		} else {
			data = order.AppendUint32(data, uint32(word))
		}
	}
	return append(data, text...)
}

func TestTable(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, size := range []int{4, 8} {
			data := append([]byte("\xf1\xff\xff\xff\x00\x00\x01\x08 not here"), table(order, size, "main.main", "", "runtime.main")...)
			if names := findTable(data); !names["main.main"] || len(names) != 2 {
				t.Errorf("%v, words of %d bytes: got %v", order, size, names)
			}
		}
	}
	if names := findTable(table(binary.LittleEndian, 8, "main.main")); names != nil {
		t.Errorf("a table without the runtime: %v", names)
	}
}

func FuzzTable(f *testing.F) {
	data := table(binary.LittleEndian, 8, "main.main", "runtime.main")
	f.Add(data)
	f.Add(table(binary.BigEndian, 4, "main.main", "runtime.main"))
	f.Add(data[:20])
	f.Fuzz(func(_ *testing.T, data []byte) { findTable(data) })
}

func TestRead(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	e, err := Read(self)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"runtime.main", "github.com/spanprof/spanprof/internal/pgocheck.withoutTypes"} {
		if !e.names[name] {
			t.Errorf("this program lacks %s", name)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "text")
	if err := os.WriteFile(path, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); !errors.Is(err, errNoTable) {
		t.Errorf("got %v", err)
	}
	if _, err := Read(filepath.Join(dir, "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
