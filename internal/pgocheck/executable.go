// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgocheck

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/spanprof/spanprof/internal/files"
)

// Executable is the functions of a Go program.
type Executable struct {
	// names has generic functions without their type arguments too: some profilers omit them.
	names map[string]bool
}

// maxExecutable bounds an executable.
const maxExecutable = 1 << 30

var errNoTable = errors.New("not an executable of Go: it has no known table of functions")

// Read reads the executable at path, of any format, stripped or not.
func Read(path string) (*Executable, error) {
	data, err := files.Read(path, files.Follow, maxExecutable)
	if err != nil {
		return nil, err
	}
	names := findTable(data)
	if names == nil {
		return nil, fmt.Errorf("%s: %w", path, errNoTable)
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

// findTable returns the names of all functions of an executable, inlined ones too, or nil. A
// stripped executable has them: the runtime prints stacks with them. Their table begins with
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
