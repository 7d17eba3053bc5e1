// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package ident has ids of spans, names of services, and times in nanoseconds.
package ident

import (
	"encoding/binary"
	"math"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
)

// Key is the id of a span in binary; 0, which no span has, for none.
type Key uint64

// NewKey returns the key of an id.
func NewKey(id trace.SpanID) Key { return Key(binary.BigEndian.Uint64(id[:])) }

// ParseKey returns 0 for a text that is not the id of a span.
func ParseKey(text string) Key {
	id, err := trace.SpanIDFromHex(text)
	if err != nil {
		return 0
	}
	return NewKey(id)
}

// String returns the 16 hex digits of the id, "" for none.
func (k Key) String() string {
	if k == 0 {
		return ""
	}
	var id trace.SpanID
	binary.BigEndian.PutUint64(id[:], uint64(k))
	return id.String()
}

// MarshalText returns what String does.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (k *Key) UnmarshalText(text []byte) error {
	*k = ParseKey(string(text))
	return nil
}

// Version returns service.version of a resource, cut, "" where there is
// none.
func Version(r *resource.Resource) string {
	v, _ := r.Set().Value("service.version")
	return Cut(v.AsString())
}

// Service returns service.name of a resource, cut, "" where there is none.
func Service(r *resource.Resource) string {
	v, _ := r.Set().Value("service.name")
	return Cut(v.AsString())
}

// MaxTextLen bounds what one text can take.
const MaxTextLen = 1024

// Cut returns at most MaxTextLen bytes of s, and no part of a rune.
func Cut(s string) string {
	if len(s) <= MaxTextLen {
		return s
	}
	n := MaxTextLen
	for n > MaxTextLen-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Latest is the last time that UnixNano returns: a whole second, in 2262.
const Latest = maxSeconds * int64(time.Second)

const maxSeconds = math.MaxInt64/int64(time.Second) - 1

// UnixNano returns a time in nanoseconds since 1970; the nearest that there is for one
// that is too early or too late.
func UnixNano(t time.Time) int64 {
	switch s := t.Unix(); {
	case s < -maxSeconds:
		return -Latest
	case s >= maxSeconds:
		return Latest
	}
	return t.UnixNano()
}
