// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package literal_test

import (
	"regexp"
	"testing"

	"github.com/spanprof/spanprof/store/internal/literal"
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
		set := literal.Parse(test.expression)
		if list := set != nil; list != test.list {
			t.Errorf("%q: got a list: %t, want %t", test.expression, list, test.list)
		}
		if set == nil {
			continue
		}
		for _, value := range values {
			if got, want := set.Has(value), re.MatchString(value); got != want {
				t.Errorf("%q, %q: got %t, want %t", test.expression, value, got, want)
			}
		}
	}
	for _, expression := range []string{"a\xff", `a\`, `a|\q`, `a|\é`, "(", "a)|(b"} {
		if literal.Parse(expression) != nil {
			t.Errorf("%q: got a list, want none", expression)
		}
	}
}
