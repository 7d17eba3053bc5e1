// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"strings"
	"unicode/utf8"
)

// spanNames bounds the values of LabelSpanName: every value is a series in a
// profile database and a string in every profile.
type spanNames struct {
	labels   *boundedMap[string] // by themselves
	maxBytes int
}

func newSpanNames(maxNames, maxBytes int) *spanNames {
	return &spanNames{labels: newBoundedMap[string](maxNames), maxBytes: maxBytes}
}

// label returns the label value for a span's name, "" for no name.
func (n *spanNames) label(name string) string {
	if name == "" {
		return ""
	}
	name = cutString(name, n.maxBytes)
	if label, ok := n.labels.get(name); ok {
		return label
	}
	if n.labels.full() {
		return OtherSpanName
	}
	copied := strings.Clone(name) // do not pin the string that it was cut from
	if label, ok := n.labels.add(copied, copied); ok {
		return label
	}
	return OtherSpanName
}

// cutString shortens s to at most n bytes without splitting a rune.
func cutString(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
