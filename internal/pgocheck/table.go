// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgocheck

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/binary"
	"errors"
	"io"
)

var errNoTable = errors.New("not an executable of Go: it has no known table of functions")

// functions returns the names of all functions of an executable, inlined ones too. A
// stripped executable has them: the runtime prints stacks with them.
func functions(f io.ReaderAt) (map[string]bool, error) {
	var sections []func() ([]byte, error)
	if e, err := elf.NewFile(f); err == nil {
		for _, s := range e.Sections {
			if s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_COMPRESSED == 0 && s.Flags&elf.SHF_EXECINSTR == 0 {
				sections = append(sections, s.Data)
			}
		}
	} else if p, err := pe.NewFile(f); err == nil {
		for _, s := range p.Sections {
			sections = append(sections, s.Data)
		}
	} else if m, err := macho.NewFile(f); err == nil {
		for _, s := range m.Sections {
			sections = append(sections, s.Data)
		}
	}
	for _, section := range sections {
		data, err := section()
		if err != nil {
			return nil, err
		}
		if names := findTable(data); names != nil {
			return names, nil
		}
	}
	return nil, errNoTable
}

// findTable returns the names in the table that data holds, or nil. The table begins with
// the magic of runtime.pcHeader: 0xfffffff1 since Go 1.20.
func findTable(data []byte) map[string]bool {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		magic := append(order.AppendUint32(nil, 0xfffffff1), 0, 0)
		for rest := data; ; {
			at := bytes.Index(rest, magic)
			if at < 0 {
				break
			}
			rest = rest[at:]
			if names := namesAt(rest, order.(binary.ByteOrder)); names != nil {
				return names
			}
			rest = rest[len(magic):]
		}
	}
	return nil
}

// The words of the header after its first 8 bytes: the offset of the names, which end in
// zeros, and the offset of the next table.
const wordNames, wordUnits, words = 3, 4, 8

// namesAt returns the names in the table at the beginning of data, or nil.
func namesAt(data []byte, order binary.ByteOrder) map[string]bool {
	if len(data) < 8 {
		return nil
	}
	size := int(data[7]) // of a pointer
	if size != 4 && size != 8 || len(data) < 8+words*size {
		return nil
	}
	word := func(i int) uint64 {
		if size == 8 {
			return order.Uint64(data[8+i*8:])
		}
		return uint64(order.Uint32(data[8+i*4:]))
	}
	begin, end := word(wordNames), word(wordUnits)
	if begin < uint64(8+words*size) || begin >= end || end > uint64(len(data)) {
		return nil
	}
	names := map[string]bool{}
	for name := range bytes.SplitSeq(data[begin:end], []byte{0}) {
		if len(name) > 0 {
			names[string(name)] = true
		}
	}
	if !names["runtime.main"] {
		return nil // other data can have these bytes
	}
	return names
}
