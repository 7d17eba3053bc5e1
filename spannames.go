// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// otherSpanName is the value of LabelSpanName for names beyond the limit.
const otherSpanName = "other"

// spanNames bounds the values of LabelSpanName: every value is a series in a
// profile database and a string in every profile.
type spanNames struct {
	maxNames, maxBytes int

	labels sync.Map // by themselves
	n      atomic.Int64
	mu     sync.Mutex // held while a label is added
}

func newSpanNames(maxNames, maxBytes int) *spanNames {
	return &spanNames{maxNames: maxNames, maxBytes: maxBytes}
}

// full reports whether all new names get the label otherSpanName.
func (n *spanNames) full() bool { return n.n.Load() >= int64(n.maxNames) }

// label returns the label value for a span's name, "" for no name.
func (n *spanNames) label(name string) string {
	if name == "" {
		return ""
	}
	name = cutString(name, n.maxBytes)
	if label, ok := n.labels.Load(name); ok {
		return label.(string)
	}
	if n.full() {
		return otherSpanName
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if label, ok := n.labels.Load(name); ok {
		return label.(string)
	}
	if n.full() {
		return otherSpanName
	}
	name = strings.Clone(name) // do not pin the string that it was cut from
	n.labels.Store(name, name)
	n.n.Add(1)
	return name
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
