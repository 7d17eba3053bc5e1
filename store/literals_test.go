// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"regexp"
	"testing"
)

// Lists of values match what regexp does with the same expression.
func TestLiterals(t *testing.T) {
	values := []string{
		"", "a", "b", "ab", "a|b", "a.b", "axb", "\\", "_", "A", "\n", "d", "7", "é", "a\nb", "00000000000000aa", "00000000000000AA",
		"\uFFFD", "\xff", "a\xff", "a\uFFFD", "\xff\xfe",
	}
	for _, test := range []struct {
		expression string
		list       bool
	}{
		{"", true},
		{"a", true},
		{"a|b", true},
		{"a|", true},
		{"|", true},
		{"a|a|ab", true},
		{`a\|b|\\|\_`, true},
		{`a\.b`, true},
		{"é|\n|a\nb", true},
		{"00000000000000aa|b", true},
		{"\uFFFD|b", true},
		{"a\uFFFD", true},
		{"a.b", false},
		{`\d|a`, false},
		{`\Qa|b\E`, false},
		{`\x61`, false},
		{`\n`, false},
		{"(a|b)", false},
		{"(?i)a", false},
		{"[ab]", false},
		{"a{1}", false},
		{"a?", false},
		{"^a$", false},
	} {
		re := regexp.MustCompile("^(?s:" + test.expression + ")$")
		for _, op := range []MatchOp{MatchRegexp, MatchNotRegexp} {
			m, err := NewMatcher("l", op, test.expression)
			if err != nil {
				t.Fatalf("%q: %v", test.expression, err)
			}
			if list := m.literals != nil; list != test.list {
				t.Errorf("%q: list is %t", test.expression, list)
			}
			for _, value := range values {
				if got, want := m.matches(value), re.MatchString(value) == (op == MatchRegexp); got != want {
					t.Errorf("%q, operator %d, %q: %t", test.expression, op, value, got)
				}
			}
		}
	}
	for _, expression := range []string{"a\xff", `a\`, `a|\q`, `a|\é`, "(", "a)|(b"} {
		if _, err := NewMatcher("l", MatchRegexp, expression); err == nil {
			t.Errorf("%q: no error", expression)
		}
	}
}
