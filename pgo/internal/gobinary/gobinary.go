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
	"os"
	"strings"
)

var (
	// ErrNotExecutable says that a file is no executable in the format of ELF,
	// Mach-O or PE.
	ErrNotExecutable = errors.New("not an executable of Linux, macOS or Windows")
	// ErrNoTable says that an executable has no table of Go functions: it is of
	// another language, packed, or of a Go that this package does not know.
	ErrNoTable = errors.New("no table of Go functions that is known")
)

// Functions returns the names of all functions of the executable at path, with those
// that are there as inlined code alone. A stripped executable has them too: the
// runtime prints stacks with them.
func Functions(path string) (map[string]struct{}, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	all, err := sections(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, s := range all {
		if !s.mayHoldTable {
			continue
		}
		data, err := s.data()
		if err != nil {
			return nil, fmt.Errorf("%s: section %s: %w", path, s.name, err)
		}
		if names := findTable(data); names != nil {
			return names, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", path, ErrNoTable)
}

type section struct {
	name         string
	mayHoldTable bool
	data         func() ([]byte, error)
}

// sections lists the sections of an executable, the table's own first.
func sections(f *os.File) ([]section, error) {
	var magic [4]byte
	if _, err := f.ReadAt(magic[:], 0); err != nil {
		return nil, ErrNotExecutable
	}
	var found []section
	add := func(name string, data func() ([]byte, error)) {
		s := section{name: name, mayHoldTable: strings.Contains(name, "rodata") || strings.Contains(name, "rdata") || strings.Contains(name, "data.rel.ro"), data: data}
		if strings.HasSuffix(name, "gopclntab") {
			s.mayHoldTable = true
			found = append([]section{s}, found...)
			return
		}
		found = append(found, s)
	}
	switch {
	case bytes.HasPrefix(magic[:], []byte(elf.ELFMAG)):
		e, err := elf.NewFile(f)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotExecutable, err)
		}
		for _, s := range e.Sections {
			if s.Type == elf.SHT_PROGBITS {
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
