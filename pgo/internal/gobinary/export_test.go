// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package gobinary

import (
	"encoding/binary"
	"slices"
	"strings"
)

var FindTable = findTable

// Table returns a table of functions with these names, with words of size bytes.
func Table(order binary.AppendByteOrder, size int, names ...string) []byte {
	data := order.AppendUint32(nil, 0xfffffff1)
	data = append(data, 0, 0, 1, byte(size))
	header := 8 + words*size
	text := strings.Join(names, "\x00") + "\x00"
	for _, w := range []int{len(names), 1, 0, header, header + len(text), 0, 0, 0} {
		if size == 8 {
			data = order.AppendUint64(data, uint64(w))
		} else {
			data = order.AppendUint32(data, uint32(w))
		}
	}
	return slices.Concat(data, []byte(text), make([]byte, 64))
}
