// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgocheck

import (
	"fmt"
	"strings"

	"github.com/spanprof/spanprof/internal/files"
)

// Executable is the functions of a Go program.
type Executable struct {
	// names has generic functions without their type arguments too: some profilers omit them.
	names map[string]bool
}

// Read reads the executable at path: ELF, Mach-O or PE, stripped or not.
func Read(path string) (*Executable, error) {
	f, err := files.Open(path, files.Follow)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	names, err := functions(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return newExecutable(names), nil
}

func newExecutable(names map[string]bool) *Executable {
	e := &Executable{map[string]bool{}}
	for name := range names {
		e.names[name], e.names[withoutTypes(name)] = true, true
	}
	return e
}

// withoutTypes replaces type arguments by three dots, as in main.Map[...].func1.
func withoutTypes(name string) string {
	first, last := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if first < 0 || last < first {
		return name
	}
	return name[:first] + "[...]" + name[last+1:]
}
