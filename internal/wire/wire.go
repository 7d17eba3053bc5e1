// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package wire bounds the memory of protobuf messages before they are decoded. Two bytes
// of an empty element become a Go struct of a hundred bytes and more. So it counts the
// elements of each type, in one pass without allocations.
package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ErrTooLarge is the cause of errors about messages and gzipped data above a bound.
var ErrTooLarge = errors.New("too large")

var errDamaged = errors.New("it is not a protobuf message of this form")

// Message is the size of a type of messages in memory, and the types of its fields.
type Message struct {
	name   string
	size   int64
	fields []*Message // by number; nil for numbers and text
}

// OTLP and Pprof are the types of ExportProfilesServiceRequest and of a pprof profile.
var (
	OTLP  = schema(otlp)
	Pprof = schema(pprof)
)

// MaxMessage bounds the memory of a decoded OTLP message: some 30,000 samples of an agent.
const MaxMessage = 80 << 20

// MaxProfile bounds the memory of a decoded pprof profile: some 400,000 samples
// without labels.
const MaxProfile = 384 << 20

const (
	// maxDepth bounds messages within messages: attributes with lists of lists.
	maxDepth = 64
	// perField is for each field: it may be unknown, and is kept as bytes then.
	perField = 8
	// perMessage is for the pointer to a message, perText for the header of a string, in a
	// slice that grows.
	perMessage = 24
	perText    = 56
)

// Check estimates the memory of a message of this type once it is decoded. More than
// maxBytes is an error with the cause ErrTooLarge.
func (m *Message) Check(data []byte, maxBytes int64) error {
	left := maxBytes
	last, err := m.walk(data, maxDepth, &left)
	if left < 0 {
		return fmt.Errorf("%w: decoded, its %d bytes would take more than %d MiB of memory; the bound was reached in %s: record or send less at a time", ErrTooLarge, len(data), maxBytes>>20, last)
	}
	return err
}

// walk subtracts the memory of a message from left, and stops below 0. It returns the
// name of the type it was in.
func (m *Message) walk(data []byte, depth int, left *int64) (in string, err error) {
	if depth == 0 {
		return m.name, errDamaged
	}
	for len(data) > 0 && *left >= 0 {
		key, n := binary.Uvarint(data)
		if n <= 0 {
			return m.name, errDamaged
		}
		data = data[n:]
		*left -= perField
		size := uint64(0)
		switch key & 7 {
		case 0:
			_, n = binary.Uvarint(data)
			size = uint64(max(n, 0))
		case 1:
			size = 8
		case 2:
			size, n = binary.Uvarint(data)
			data = data[max(n, 0):]
		case 5:
			size = 4
		default:
			n = 0
		}
		if n <= 0 || size > uint64(len(data)) {
			return m.name, errDamaged
		}
		value := data[:size]
		data = data[size:]
		var field *Message
		if key>>3 < uint64(len(m.fields)) {
			field = m.fields[key>>3]
		}
		switch text := key&7 == 2; {
		case !text && field != nil:
			*left -= field.size
		case !text:
		case field == nil:
			*left -= perText + int64(size)
		case field.fields == nil: // numbers, one after the other
			for _, b := range value {
				*left -= int64(1-b>>7) * field.size
			}
		default:
			*left -= perMessage + field.size
			if in, err := field.walk(value, depth-1, left); err != nil || *left < 0 {
				return in, err
			}
		}
	}
	return m.name, nil
}

// schema reads one type a line, the type of the whole first: its name, its size, and the
// types of its fields by their numbers.
func schema(text string) *Message {
	types := map[string]*Message{"numbers": {name: "numbers", size: 16}, "ids": {name: "ids", size: 24}, "comments": {name: "comments", size: 64}}
	get := func(name string) *Message {
		if types[name] == nil {
			types[name] = &Message{name: name, fields: []*Message{nil}}
		}
		return types[name]
	}
	var first *Message
	for line := range strings.Lines(strings.TrimSpace(text)) {
		words := strings.Fields(line)
		m := get(words[0])
		if first == nil {
			first = m
		}
		m.size, _ = strconv.ParseInt(words[1], 10, 64)
		for _, field := range words[2:] {
			number, name, _ := strings.Cut(field, "=")
			n, _ := strconv.Atoi(number)
			m.fields = append(m.fields, make([]*Message, max(0, n+1-len(m.fields)))...)
			m.fields[n] = get(name)
		}
	}
	return first
}

// Inflate returns what is in gzipped data. More than maxBytes is an error with the cause
// ErrTooLarge. It unpacks the data twice, because a buffer that grows takes thrice the memory.
func Inflate(zipped []byte, maxBytes int64) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(io.Discard, io.LimitReader(z, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if n > maxBytes {
		return nil, fmt.Errorf("%w: it has more than %d MiB, unpacked", ErrTooLarge, maxBytes>>20)
	}
	if err := z.Reset(bytes.NewReader(zipped)); err != nil {
		return nil, err
	}
	data := make([]byte, n)
	_, err = io.ReadFull(z, data)
	return data, err
}
