// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package gobinary

import (
	"bytes"
	"encoding/binary"
)

// The first bytes of the table, that is of runtime.pcHeader: 0xfffffff0 for Go 1.18,
// 0xfffffff1 since Go 1.20.
var (
	little118, little120 = []byte{0xf0, 0xff, 0xff, 0xff}, []byte{0xf1, 0xff, 0xff, 0xff}
	big118, big120       = []byte{0xff, 0xff, 0xff, 0xf0}, []byte{0xff, 0xff, 0xff, 0xf1}
)

// The words of the header after its first 8 bytes.
const (
	wordFunctions = iota
	wordFiles
	wordText
	wordNames // offset of the names, which end in zeros
	wordUnits // offset of what follows the names
	_
	_
	_
	words
)

// findTable returns the names in the table that data holds, or nil.
func findTable(data []byte) map[string]struct{} {
	for _, magic := range [][]byte{little120, big120, little118, big118} {
		for at := 0; ; at++ {
			i := bytes.Index(data[at:], magic)
			if i < 0 {
				break
			}
			at += i
			order := binary.ByteOrder(binary.LittleEndian)
			if magic[0] == 0xff {
				order = binary.BigEndian
			}
			if names := namesAt(data[at:], order); names != nil {
				return names
			}
		}
	}
	return nil
}

// namesAt returns the names in the table at the beginning of data, or nil if there
// is none.
func namesAt(data []byte, order binary.ByteOrder) map[string]struct{} {
	if len(data) < 8 || data[4] != 0 || data[5] != 0 {
		return nil
	}
	quantum, size := data[6], int(data[7])
	if quantum != 1 && quantum != 2 && quantum != 4 || size != 4 && size != 8 || len(data) < 8+words*size {
		return nil
	}
	word := func(i int) uint64 {
		if at := 8 + i*size; size == 8 {
			return order.Uint64(data[at:])
		}
		return uint64(order.Uint32(data[8+i*size:]))
	}
	begin, end := word(wordNames), word(wordUnits)
	if begin < uint64(8+words*size) || begin >= end || end > uint64(len(data)) {
		return nil
	}
	table := bytes.TrimRight(data[begin:end], "\x00")
	names := make(map[string]struct{}, word(wordFunctions)%(1<<20))
	for len(table) > 0 {
		name, rest, _ := bytes.Cut(table, []byte{0})
		if len(name) > 0 {
			names[string(name)] = struct{}{}
		}
		table = rest
	}
	if _, ok := names["runtime.main"]; !ok {
		return nil // no program's table: these bytes are in other data too
	}
	return names
}
