// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package servertext_test

import (
	"strings"
	"testing"

	"github.com/spanprof/spanprof/internal/servertext"
)

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"zu groß":                        "zu groß",
		" two\r\nlines\t ":               "two lines",
		"\x1b[31mred\x00":                "[31mred",
		"not UTF-8: \xff":                "not UTF-8:",
		"\u202eturned":                   "turned",
		strings.Repeat("x", 1<<20):       strings.Repeat("x", 1<<10),
		"x" + strings.Repeat("ß", 1<<10): "x" + strings.Repeat("ß", 511),
	} {
		if got := servertext.Clean(text); got != want {
			t.Errorf("Clean(%.40q) = %.40q, want %.40q", text, got, want)
		}
	}
}
