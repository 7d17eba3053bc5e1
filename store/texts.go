// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strings"
	"unsafe"
)

// texts keeps one copy of equal strings and counts the references to it.
type texts struct {
	nodes countedMap[string, *text]
	// size is the memory of the nodes and of what they point to.
	size int64
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
	n := t.nodes.get(s)
	if n == nil {
		// A copy: s may be a slice of something big.
		n = &text{value: strings.Clone(s)}
		t.nodes.set(n.value, n)
		t.size += textCost(s)
	}
	n.refs++
	return n.value
}

func (t *texts) release(s string) {
	n := t.nodes.get(s)
	if n == nil {
		return
	}
	n.refs--
	if n.refs == 0 {
		t.nodes.remove(s)
		t.size -= textCost(s)
	}
}

func textCost(s string) int64 {
	return allocSize(int64(len(s))) + allocSize(int64(unsafe.Sizeof(text{})))
}

func (t *texts) bytes() int64 { return t.size + t.nodes.bytes() }
