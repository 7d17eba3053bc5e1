// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/wire"
)

// elements are n fields with bytes.
func elements(number byte, n int, value ...byte) []byte {
	return bytes.Repeat(append([]byte{number<<3 | 2, byte(len(value))}, value...), n)
}

// in wraps a value of up to 16,383 bytes in fields, the innermost last.
func in(value []byte, numbers ...byte) []byte {
	for _, number := range slices.Backward(numbers) {
		n := len(value)
		value = append([]byte{number<<3 | 2, byte(n) | 0x80, byte(n >> 7)}, value...)
	}
	return value
}

// Each kind of element counts with its memory: the bound is between n and more of them.
func TestCheck(t *testing.T) {
	const bytesOfVarint = 0x81
	for name, test := range map[string]struct {
		of      *wire.Message
		message func(n int) []byte
		each    int64 // bytes of memory
	}{
		"samples":                 {wire.OTLP, func(n int) []byte { return in(elements(2, n), 1, 2, 2) }, 128 + 32},
		"locations":               {wire.OTLP, func(n int) []byte { return in(elements(2, n), 2) }, 104 + 32},
		"strings":                 {wire.OTLP, func(n int) []byte { return in(elements(5, n, 'a', 'b'), 2) }, 2 + 64},
		"values":                  {wire.OTLP, func(n int) []byte { return in(in(make([]byte, n), 4), 1, 2, 2, 2) }, 16},
		"attributes of a profile": {wire.OTLP, func(n int) []byte { return in(in(make([]byte, n), 11), 1, 2, 2) }, 130},
		"values of two bytes":     {wire.OTLP, func(n int) []byte { return in(in(bytes.Repeat([]byte{bytesOfVarint, 1}, n), 4), 1, 2, 2, 2) }, 16},
		"values in fields":        {wire.OTLP, func(n int) []byte { return in(bytes.Repeat([]byte{4 << 3, 1}, n), 1, 2, 2, 2) }, 24},
		"fields that are unknown": {wire.OTLP, func(n int) []byte { return bytes.Repeat([]byte{15<<3 | 5, 1, 2, 3, 4}, n) }, 8},
		"pprof samples":           {wire.Pprof, func(n int) []byte { return elements(2, n) }, 128 + 32},
		"pprof labels":            {wire.Pprof, func(n int) []byte { return in(elements(3, n), 2) }, 500 + 32},
		"pprof comments":          {wire.Pprof, func(n int) []byte { return bytes.Repeat([]byte{13 << 3, 1}, n) }, 64 + 8},
	} {
		const n = 1000
		const around = 6000 // what the messages around them take
		if err := test.of.Check(test.message(n), n*test.each+around); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := test.of.Check(test.message(n), n*test.each-1); !errors.Is(err, wire.ErrTooLarge) {
			t.Errorf("%s: got %v, want ErrTooLarge", name, err)
		}
	}
	err := wire.OTLP.Check(in(elements(2, 8000), 1, 2, 2), 1<<20)
	if want := "too large: decoded, its 16009 bytes would take more than 1 MiB of memory; the bound was reached in Sample: record or send less at a time"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// The structs of google/pprof are no larger than what counts for them.
func TestSizesOfPprof(t *testing.T) {
	for number, of := range map[byte]any{1: profile.ValueType{}, 2: profile.Sample{}, 3: profile.Mapping{}, 4: profile.Location{}, 5: profile.Function{}} {
		const n = 1000
		size := int64(reflect.TypeOf(of).Size())
		if err := wire.Pprof.Check(elements(number, n), n*size); err == nil {
			t.Errorf("%d elements of %T pass as less than %d bytes each", n, of, size)
		}
	}
}

func TestCheckDamaged(t *testing.T) {
	deep := in(nil, 6, 1, 2) // a list in an attribute
	for range 30 {
		deep = in(deep, 6, 1, 2)
	}
	for name, message := range map[string][]byte{
		"cut off in a key":    {0x80},
		"cut off in a length": {2<<3 | 2, 0x80},
		"cut off in a value":  {2<<3 | 2, 2, 0},
		"cut off in a number": {2 << 3, 0x80},
		"cut off after 4":     {2<<3 | 1, 1, 2, 3, 4},
		"a length of 2^63":    {2<<3 | 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		"a group":             {2<<3 | 3, 2<<3 | 4},
		"lists in lists":      in(deep, 1, 1, 1, 2),
	} {
		if err := wire.OTLP.Check(message, 1<<30); err == nil || errors.Is(err, wire.ErrTooLarge) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// The walk reads each byte of any input at most once for each level, and never panics.
func FuzzCheck(f *testing.F) {
	f.Add(in(elements(2, 3), 1, 2, 2))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, m := range []*wire.Message{wire.OTLP, wire.Pprof} {
			if err := m.Check(data, 1<<40); errors.Is(err, wire.ErrTooLarge) {
				t.Error(err)
			}
		}
	})
}

func TestInflate(t *testing.T) {
	zip := func(text string) []byte {
		zipped, err := wire.Gzipped([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return zipped
	}
	members := append(zip("abc"), zip("de")...)
	if got, err := wire.Inflate(members, 5); string(got) != "abcde" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := wire.Inflate(members, 4); got != nil || !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := wire.Inflate(members[:len(members)-1], 5); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut off: %v", err)
	}
	if _, err := wire.Inflate([]byte(strings.Repeat("x", 20)), 5); err == nil {
		t.Error("no error without gzip")
	}
}
