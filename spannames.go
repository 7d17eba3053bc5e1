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

// otherSpanName is the value of LabelSpanName for names beyond the limit.
const otherSpanName = "other"

// spanNames bounds the values of LabelSpanName: every value is a series in a
// profile database and a string in every profile.
type spanNames struct {
	maxNames, maxBytes int

	labels atomic.Pointer[map[string]string] // by themselves, replaced for each new one
	mu     sync.Mutex                        // held while a label is added
}

func newSpanNames(maxNames, maxBytes int) *spanNames {
	n := &spanNames{maxNames: maxNames, maxBytes: maxBytes}
	n.labels.Store(&map[string]string{})
	return n
}

// label returns the label value for a span's name, valid UTF-8; "" for no name.
func (n *spanNames) label(name string) string {
	if end := n.maxBytes; len(name) > end {
		for end > 0 && !utf8.RuneStart(name[end]) {
			end--
		}
		name = name[:end]
	}
	if name == "" {
		return "" // also if not one rune was within the limit
	}
	labels := *n.labels.Load()
	if label, ok := labels[name]; ok {
		return label
	}
	if len(labels) >= n.maxNames {
		return otherSpanName
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	labels = *n.labels.Load()
	if _, ok := labels[name]; !ok && len(labels) >= n.maxNames {
		return otherSpanName
	}
	name = strings.Clone(name) // do not pin the string that it was cut from
	next := maps.Clone(labels)
	next[name] = strings.ToValidUTF8(name, "?")
	n.labels.Store(&next)
	return next[name]
}
