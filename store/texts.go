// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strings"
	"unsafe"
)

// texts keeps one copy of equal strings and counts the references to it.
type texts struct {
	nodes map[string]*text
	bytes int64
}

type text struct {
	value string
	refs  int
}

// retain returns the one copy of s, with a reference to it.
func (t *texts) retain(s string) string {
	if s == "" {
		return ""
	}
	n := t.nodes[s]
	if n == nil {
		// A copy: s may be a slice of something big.
		n = &text{value: strings.Clone(s)}
		t.nodes[n.value] = n
		t.bytes += textCost(s)
	}
	n.refs++
	return n.value
}

func (t *texts) release(s string) {
	n := t.nodes[s]
	if n == nil {
		return
	}
	n.refs--
	if n.refs == 0 {
		delete(t.nodes, s)
		t.bytes -= textCost(s)
	}
}

func textCost(s string) int64 {
	return allocSize(int64(len(s))) + allocSize(int64(unsafe.Sizeof(text{}))) + slotSize(stringSize+pointerSize)
}
