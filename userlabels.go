// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build go1.26 && !go1.28 && !spanprof_public

package spanprof

import (
	"slices"
	"strings"
)

func hasUserLabels(m *labelMap) bool {
	if m == nil {
		return false
	}
	if b := blockOf(m); b != nil {
		return len(m.list) > int(b.own)
	}
	return slices.ContainsFunc(m.list, func(l label) bool { return !isSpanLabel(l.Key) })
}

// hasUserLabelsOf reports whether m has all labels of the user's that are in
// another map.
func hasUserLabelsOf(m, other *labelMap) bool {
	if m == other || !hasUserLabels(other) {
		return true
	}
	for i := range other.list {
		l := &other.list[i]
		if isSpanLabel(l.Key) {
			continue
		}
		if mine := m.find(l.Key); mine == nil || mine.Value != l.Value {
			return false
		}
	}
	return true
}

// withUserLabels returns own and the user's labels, sorted by key as
// runtime/pprof keeps them, with room for one more. What the context says of a
// label goes before what the goroutine carries, as in pprof.Do.
func withUserLabels(own []label, onGoroutine, inContext *labelMap) []label {
	var fromContext, fromGoroutine []label
	if inContext != nil {
		fromContext = inContext.list
	}
	if onGoroutine != nil {
		fromGoroutine = onGoroutine.list
	}
	list := make([]label, 0, len(own)+len(fromContext)+len(fromGoroutine)+1)
	list = append(list, own...)
	for _, l := range fromContext {
		if !isSpanLabel(l.Key) {
			list = append(list, l)
		}
	}
	for _, l := range fromGoroutine {
		if !isSpanLabel(l.Key) && !inContext.has(l.Key) {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b label) int { return strings.Compare(a.Key, b.Key) })
	return list
}
