// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package wire bounds the memory of protobuf messages before they are decoded. Two bytes
// of an empty element become a Go struct of a hundred bytes and more. So it counts the
// elements of each type, in one pass without allocations.
package wire

import (
	"bytes"
	"cmp"
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

// ErrGzip is the cause of errors about gzipped data that are damaged or cut off.
var ErrGzip = errors.New("gzip data are cut off or damaged")

var errDamaged = errors.New("it is not a protobuf message of this form")

// Message is the size of a type of messages in memory, and the types of its fields.
type Message struct {
	name     string
	size     int64
	fields   []*Message // by number; nil for numbers and text
	isNumber bool
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
	c := counter{left: maxBytes}
	switch ok := c.walk(m, data, maxDepth); {
	case c.left < 0:
		return fmt.Errorf("%w: decoded, its %d bytes would take more than %d MiB of memory; the bound was reached in %s: record or send less at a time", ErrTooLarge, len(data), maxBytes>>20, c.in)
	case !ok:
		return errDamaged
	}
	return nil
}

type counter struct {
	left int64
	in   string // the type of the last message
}

// walk subtracts the memory of a message from left, and stops below 0. It returns false for
// a damaged message.
func (c *counter) walk(m *Message, data []byte, depth int) bool {
	c.in = m.name
	for len(data) > 0 && c.left >= 0 {
		key, value, rest, ok := Next(data)
		if data = rest; depth == 0 || !ok {
			return false
		}
		var field *Message
		if key>>3 < uint64(len(m.fields)) {
			field = m.fields[key>>3]
		}
		c.left -= perField
		switch text := key&7 == 2; {
		case !text && field != nil:
			c.left -= field.size
		case !text:
		case field == nil:
			c.left -= perText + int64(len(value))
		case field.isNumber: // one after the other
			for _, b := range value {
				c.left -= int64(1-b>>7) * field.size
			}
		default:
			c.left -= perMessage + field.size
			if !c.walk(field, value, depth-1) {
				return false
			}
		}
	}
	return true
}

// Next returns the first field's key (number<<3 | wire type) and, for a length-delimited
// field, its bytes. ok is false for a damaged message.
func Next(data []byte) (key uint64, value, rest []byte, ok bool) {
	key, n := binary.Uvarint(data)
	data = data[max(n, 0):]
	size, prefix := uint64(0), 0
	switch key & 7 {
	case 0:
		_, prefix = binary.Uvarint(data)
	case 1:
		prefix = 8
	case 2:
		size, prefix = binary.Uvarint(data)
	case 5:
		prefix = 4
	}
	if n <= 0 || prefix <= 0 || prefix > len(data) || size > uint64(len(data)-prefix) {
		return 0, nil, nil, false
	}
	return key, data[prefix:][:size], data[prefix:][size:], true
}

// otlp has the sizes of the generated structs. AnyValue includes the value in it. The
// sizes of ResourceProfiles, KeyValue, Profile and the indices of its attributes include
// what the receiver makes of them.
const otlp = `
Request 72 1=ResourceProfiles 2=Dictionary
ResourceProfiles 200 1=Resource 2=ScopeProfiles
Resource 96 1=KeyValue 3=EntityRef
KeyValue 250 2=AnyValue
AnyValue 80 5=ArrayValue 6=KeyValueList
ArrayValue 64 1=AnyValue
KeyValueList 64 1=KeyValue
ScopeProfiles 88 1=Scope 2=Profile
Scope 104 3=KeyValue
Profile 4096 1=ValueType 2=Sample 5=ValueType 11=attributes
Sample 128 2=numbers 4=numbers
Dictionary 208 1=Mapping 2=Location 3=Function 4=Link 6=KeyValueAndUnit 7=Stack
Mapping 96 5=attributes
Location 104 3=Line 4=attributes
KeyValueAndUnit 120 2=AnyValue
Stack 64 1=numbers`

// pprof has the sizes of the structs of google/pprof with their places in its tables by
// id. A Label is mostly its share of three maps. Location ids become pointers too.
const pprof = `
Profile 400 1=ValueType 2=Sample 3=Mapping 4=Location 5=Function 11=ValueType 13=comments
Sample 128 1=ids 2=numbers 3=Label
Label 500
Location 104 4=Line`

// schema reads one type a line, the type of the whole first: its name, its size, and the
// types of its fields by their numbers. Types without a line have at most the default size.
func schema(text string) *Message {
	var first *Message
	types := map[string]*Message{"numbers": {size: 16, isNumber: true}, "ids": {size: 24, isNumber: true}, "attributes": {size: 130, isNumber: true}, "comments": {size: 64, isNumber: true}}
	get := func(name string) *Message {
		if types[name] == nil {
			types[name] = &Message{name: name, size: 152}
		}
		return types[name]
	}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		words := strings.Fields(line)
		m := get(words[0])
		first = cmp.Or(first, m)
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

// Gzipped returns data gzipped. Data that begin as gzipped ones are returned unchanged.
func Gzipped(data []byte) ([]byte, error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(data)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

// Inflate returns what is in gzipped data. An error has the cause ErrTooLarge for more than
// maxBytes, else ErrGzip. The data are unpacked twice: a growing buffer takes thrice the memory.
func Inflate(zipped []byte, maxBytes int64) (data []byte, err error) {
	z, err := gzip.NewReader(bytes.NewReader(zipped))
	n := int64(0)
	if err == nil {
		n, err = io.Copy(io.Discard, io.LimitReader(z, maxBytes+1))
	}
	if n > maxBytes {
		return nil, fmt.Errorf("%w: it has more than %d MiB, unpacked", ErrTooLarge, maxBytes>>20)
	}
	if err == nil {
		err = z.Reset(bytes.NewReader(zipped))
	}
	if err == nil {
		data = make([]byte, n)
		_, err = io.ReadFull(z, data)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGzip, err)
	}
	return data, nil
}
