// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package termtext_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/internal/termtext"
)

func TestClip(t *testing.T) {
	for _, test := range []struct {
		in              string
		n               int
		start, function string
	}{
		{"", 3, "", ""},
		{"été", 3, "été", "été"},
		{"étés", 3, "ét…", "…és"},
		{"étés", 1, "…", "…"},
	} {
		if got := termtext.Clip(test.in, test.n); got != test.start {
			t.Errorf("Clip(%q, %d) = %q", test.in, test.n, got)
		}
		if got := termtext.ClipStart(test.in, test.n); got != test.function {
			t.Errorf("ClipStart(%q, %d) = %q", test.in, test.n, got)
		}
	}
}

func TestClipKeepsWhatFits(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("é", 80)} {
		if got := termtext.Clip(s, 80); got != s {
			t.Errorf("Clip(%q, 80) = %q", s, got)
		}
	}
}

func TestWrap(t *testing.T) {
	for in, want := range map[string][]string{
		"":                {""},
		"one two":         {"one two"},
		"one two three":   {"one two", "three"},
		"extraordinarily": {"extraor", "dinaril", "y"},
		"a extraordinary": {"a", "extraor", "dinary"},
	} {
		if got := termtext.Wrap(in, 7); !slices.Equal(got, want) {
			t.Errorf("%q (-want +got):\n%s", in, cmp.Diff(want, got))
		}
	}
}

// A direction override would also reverse the line after it.
func TestDirectionOfNames(t *testing.T) {
	for _, r := range "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" {
		if got := termtext.OneLine("a" + string(r) + "b"); got != "a\uFFFDb" {
			t.Errorf("%U became %q", r, got)
		}
	}
	if got := termtext.OneLine("שלום عالم"); got != "שלום عالم" {
		t.Errorf("got %q", got)
	}
}
