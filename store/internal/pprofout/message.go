// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofout

import "encoding/binary"

// message is a protobuf message that is being encoded. Fields with the value 0 are left
// out, for that is what their absence means.
type message []byte

// The wire types of protobuf that profiles have.
const (
	varint = 0
	bytes  = 2
)

func (m *message) tag(field, wire int) { *m = binary.AppendUvarint(*m, uint64(field<<3|wire)) }

func (m *message) uint(field int, v uint64) {
	if v != 0 {
		m.tag(field, varint)
		*m = binary.AppendUvarint(*m, v)
	}
}

func (m *message) int(field int, v int64) { m.uint(field, uint64(v)) }

func (m *message) bool(field int, v bool) {
	if v {
		m.uint(field, 1)
	}
}

// part adds a message, packed numbers or a text. It is there even if it is empty.
func (m *message) part(field int, part []byte) {
	m.tag(field, bytes)
	*m = binary.AppendUvarint(*m, uint64(len(part)))
	*m = append(*m, part...)
}
