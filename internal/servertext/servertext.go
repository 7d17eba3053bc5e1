// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package servertext cleans a server's text for a program's log.
package servertext

import (
	"strings"
	"unicode"
)

const maxLen = 1 << 10

// Clean returns up to 1 KiB of text as one line of UTF-8. Control characters become
// spaces: line ends and terminal escape sequences could imitate the program's own lines.
func Clean(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), maxLen)], "")
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
