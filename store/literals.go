// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strings"
	"unicode/utf8"
)

// literals are the values that a regular expression without operators but | is
// equal to. To look one up takes the same time however many there are.
type literals struct {
	values map[string]struct{}
	// keys are those of the values that are ids of spans.
	keys map[spanKey]struct{}
	// replaced says that a value has U+FFFD, which an expression finds for each
	// byte that is no UTF-8 too.
	replaced bool
}

// newLiterals returns nil for any other expression, valid or not.
func newLiterals(expression string) *literals {
	if !utf8.ValidString(expression) {
		return nil
	}
	s := &literals{
		values:   make(map[string]struct{}),
		keys:     make(map[spanKey]struct{}),
		replaced: strings.ContainsRune(expression, utf8.RuneError),
	}
	var value strings.Builder
	add := func() {
		s.values[value.String()] = struct{}{}
		if key := parseSpanKey(value.String()); key != 0 {
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

func (s *literals) has(value string) bool {
	if s.replaced && !utf8.ValidString(value) {
		value = string([]rune(value))
	}
	_, ok := s.values[value]
	return ok
}

func (s *literals) hasKey(key spanKey) bool {
	_, ok := s.keys[key]
	return ok
}
