// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package gobinary reads the names of a Go executable's functions.
package gobinary

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"io"
	"strings"
)

var (
	// ErrNotExecutable is the error for a file that is not in the format of ELF, Mach-O
	// or PE.
	ErrNotExecutable = errors.New("not an executable of Linux, macOS or Windows")
	// ErrNoTable is the error for an executable without a table of Go functions: of another
	// language, packed, or of an unknown Go.
	ErrNoTable = errors.New("no table of Go functions that is known")
)

// Functions returns the names of all functions of an executable, with those
// that are there as inlined code alone. A stripped executable has them too: the
// runtime prints stacks with them.
func Functions(f io.ReaderAt) (map[string]struct{}, error) {
	all, err := sections(f)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		data, err := s.data()
		if err != nil {
			return nil, fmt.Errorf("section %s: %w", s.name, err)
		}
		if names := findTable(data); names != nil {
			return names, nil
		}
	}
	return nil, ErrNoTable
}

type section struct {
	name string
	data func() ([]byte, error)
}

// sections lists the sections that may have the table, its own first.
func sections(f io.ReaderAt) ([]section, error) {
	var magic [4]byte
	if _, err := f.ReadAt(magic[:], 0); err != nil {
		return nil, ErrNotExecutable
	}
	var found []section
	add := func(name string, data func() ([]byte, error)) {
		switch {
		case strings.HasSuffix(name, "gopclntab"):
			found = append([]section{{name, data}}, found...)
		case strings.Contains(name, "rodata"), strings.Contains(name, "rdata"), strings.Contains(name, "data.rel.ro"):
			found = append(found, section{name, data})
		}
	}
	switch {
	case bytes.HasPrefix(magic[:], []byte(elf.ELFMAG)):
		e, err := elf.NewFile(f)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotExecutable, err)
		}
		for _, s := range e.Sections {
			if s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_COMPRESSED == 0 { // a table is not compressed
				add(s.Name, s.Data)
			}
		}
	case bytes.HasPrefix(magic[:], []byte("MZ")):
		p, err := pe.NewFile(f)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotExecutable, err)
		}
		for _, s := range p.Sections {
			add(s.Name, s.Data)
		}
	default:
		m, err := macho.NewFile(f)
		if err != nil {
			return nil, ErrNotExecutable
		}
		for _, s := range m.Sections {
			add(s.Name, s.Data)
		}
	}
	return found, nil
}
