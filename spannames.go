// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// spanNames bounds the values of LabelSpanName: every value is a series in a
// profile database and a string in every profile.
//
// Reading takes no lock and writes no shared memory. Adding a name copies the
// map, which happens at most max times in the life of a process.
type spanNames struct {
	max      int
	maxBytes int

	known atomic.Pointer[map[string]string]
	mu    sync.Mutex // held to replace known
}

func newSpanNames(maxNames, maxBytes int) *spanNames {
	n := &spanNames{max: maxNames, maxBytes: maxBytes}
	n.known.Store(&map[string]string{})
	return n
}

// label returns the label value for a span's name.
func (n *spanNames) label(name string) string {
	if value, ok := (*n.known.Load())[name]; ok {
		return value
	}
	return n.add(cutString(name, n.maxBytes))
}

func (n *spanNames) add(name string) string {
	known := *n.known.Load()
	if value, ok := known[name]; ok {
		return value
	}
	if len(known) >= n.max {
		return OtherSpanName
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	known = *n.known.Load()
	if value, ok := known[name]; ok {
		return value
	}
	if len(known) >= n.max {
		return OtherSpanName
	}
	next := maps.Clone(known)
	name = strings.Clone(name) // do not pin the string that it was cut from
	next[name] = name
	n.known.Store(&next)
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
