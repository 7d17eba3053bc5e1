// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package literal finds the values that an expression lists: a|b|c.
package literal

import (
	"strings"
	"unicode/utf8"

	"github.com/spanprof/spanprof/store/internal/ident"
)

// Set is the values that a regular expression without operators but | is
// equal to. To look one up takes the same time however many there are.
type Set struct {
	values map[string]struct{}
	// keys are those of the values that are ids of spans.
	keys map[ident.Key]struct{}
	// replaced says that a value has U+FFFD, which an expression finds for each
	// byte that is no UTF-8 too.
	replaced bool
}

// Parse returns nil for any other expression, valid or not.
func Parse(expression string) *Set {
	if !utf8.ValidString(expression) {
		return nil
	}
	s := &Set{
		values:   make(map[string]struct{}),
		keys:     make(map[ident.Key]struct{}),
		replaced: strings.ContainsRune(expression, utf8.RuneError),
	}
	var value strings.Builder
	add := func() {
		s.values[value.String()] = struct{}{}
		if key := ident.ParseKey(value.String()); key != 0 {
			s.keys[key] = struct{}{}
		}
		value.Reset()
	}
	for i := 0; i < len(expression); i++ {
		c := expression[i]
		switch {
		case c == '|':
			add()
			continue
		case c == '\\':
			// Before letters and digits a backslash has other meanings.
			if i++; i == len(expression) || expression[i] >= utf8.RuneSelf || isLetterOrDigit(expression[i]) {
				return nil
			}
			c = expression[i]
		case strings.IndexByte(".+*?()[]{}^$", c) >= 0:
			return nil
		}
		value.WriteByte(c)
	}
	add()
	return s
}

func isLetterOrDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// Has reports whether the expression matches the whole value.
func (s *Set) Has(value string) bool {
	if s.replaced && !utf8.ValidString(value) {
		value = string([]rune(value))
	}
	_, ok := s.values[value]
	return ok
}

// HasBytes is Has for a value in bytes.
func (s *Set) HasBytes(value []byte) bool {
	if s.replaced && !utf8.Valid(value) {
		return s.Has(string(value))
	}
	_, ok := s.values[string(value)]
	return ok
}

// HasKey is Has for the id of a span.
func (s *Set) HasKey(key ident.Key) bool {
	_, ok := s.keys[key]
	return ok
}
