// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"regexp"
	"testing"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// Matchers select what regexp does with the same expression.
func TestExpressions(t *testing.T) {
	values := []string{
		"", "a", "b", "ab", "a|b", "a.b", "axb", "\\", "_", "A", "\n", "d", "7", "é", "a\nb", "00000000000000aa", "00000000000000AA",
		"\uFFFD", "\xff", "a\xff", "a\uFFFD", "\xff\xfe",
	}
	s := newStore(t)
	var samples []sample
	for _, value := range values {
		samples = append(samples, sample{"f", 1, labels("l", value)})
	}
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(samples...)))
	for _, expression := range []string{
		"",
		"a",
		"a|b",
		"a|",
		"|",
		"a|a|ab",
		`a\|b|\\|\_`,
		`a\.b`,
		"é|\n|a\nb",
		"00000000000000aa|b",
		"\uFFFD|b",
		"a\uFFFD",
		"a.b",
		`\d|a`,
		`\Qa|b\E`,
		`\x61`,
		`\n`,
		"(a|b)",
		"(?i)a",
		"[ab]",
		"a{1}",
		"a?",
		"^a$",
	} {
		re := regexp.MustCompile("^(?s:" + expression + ")$")
		for _, op := range []store.MatchOp{store.MatchRegexp, store.MatchNotRegexp} {
			m, err := store.NewMatcher("l", op, expression)
			if err != nil {
				t.Fatalf("%q: %v", expression, err)
			}
			p, err := s.Profile(store.Query{Kind: exporter.KindCPU, Matchers: []store.Matcher{m}})
			if err != nil {
				t.Fatal(err)
			}
			selected := map[string]bool{}
			for _, sample := range p.Sample {
				selected[sample.Label["l"][0]] = true
			}
			for _, value := range values {
				if got, want := selected[value], re.MatchString(value) == (op == store.MatchRegexp); got != want {
					t.Errorf("%q, operator %d, %q: got %t, want %t", expression, op, value, got, want)
				}
			}
		}
	}
	for _, expression := range []string{"a\xff", `a\`, `a|\q`, `a|\é`, "(", "a)|(b"} {
		if _, err := store.NewMatcher("l", store.MatchRegexp, expression); err == nil {
			t.Errorf("%q: no error", expression)
		}
	}
}
