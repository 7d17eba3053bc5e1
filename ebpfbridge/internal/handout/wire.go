// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// hello begins the stream. A client of another version or protocol sees it at once.
const hello = "spanprof host 1\n"

// MaxMessage is the longest message, in bytes.
const MaxMessage = 32 << 20

type kind uint32

const (
	kindMessage kind = 1
	kindRefusal kind = 2
)

// header comes before each payload.
type header struct {
	Kind   kind
	Length uint32
	Agent  uint64
	Lost   uint64
}

const headerSize = 24

func (h header) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(h.Kind))
	b = binary.BigEndian.AppendUint32(b, h.Length)
	b = binary.BigEndian.AppendUint64(b, h.Agent)
	return binary.BigEndian.AppendUint64(b, h.Lost)
}

// maxRefusal is how much of the server's words a client reads, in bytes.
const maxRefusal = 1 << 10

// readFrame reads a header and its payload.
func readFrame(r io.Reader) (header, []byte, error) {
	var b [headerSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return header{}, nil, err
	}
	h := header{
		Kind:   kind(binary.BigEndian.Uint32(b[0:])),
		Length: binary.BigEndian.Uint32(b[4:]),
		Agent:  binary.BigEndian.Uint64(b[8:]),
		Lost:   binary.BigEndian.Uint64(b[16:]),
	}
	limit := uint32(MaxMessage)
	switch h.Kind {
	case kindMessage:
	case kindRefusal:
		limit = maxRefusal
	default:
		return header{}, nil, fmt.Errorf("a frame of unknown kind %d", h.Kind)
	}
	if h.Length > limit {
		return header{}, nil, fmt.Errorf("a frame of %d bytes, %d are allowed", h.Length, limit)
	}
	payload := make([]byte, h.Length)
	_, err := io.ReadFull(r, payload)
	return h, payload, err
}

// readHello reads the beginning of a stream.
func readHello(r io.Reader) error {
	b := make([]byte, len(hello))
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	if string(b) != hello {
		return errors.New("what answers is no hostview of this version")
	}
	return nil
}
