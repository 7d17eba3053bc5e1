// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

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
		return len(m.List) > int(b.own)
	}
	return slices.ContainsFunc(m.List, func(l label) bool { return !isSpanLabel(l.Key) })
}

// hasUserLabelsOf reports whether m has all labels of the user's that are in
// another map.
func hasUserLabelsOf(m, other *labelMap) bool {
	if m == other || !hasUserLabels(other) {
		return true
	}
	for i := range other.List {
		l := &other.List[i]
		if isSpanLabel(l.Key) {
			continue
		}
		if mine := m.Find(l.Key); mine == nil || mine.Value != l.Value {
			return false
		}
	}
	return true
}

// withUserLabels returns own and the user's labels, sorted by key as
// runtime/pprof keeps them, with room for one more. What the context says of a
// label goes before what the goroutine carries, as in pprof.Do.
func withUserLabels(own []label, onGoroutine, inContext *labelMap) []label {
	fromContext, fromGoroutine := inContext.Labels(), onGoroutine.Labels()
	list := make([]label, 0, len(own)+len(fromContext)+len(fromGoroutine)+1)
	list = append(list, own...)
	for _, l := range fromContext {
		if !isSpanLabel(l.Key) {
			list = append(list, l)
		}
	}
	for _, l := range fromGoroutine {
		if !isSpanLabel(l.Key) && inContext.Find(l.Key) == nil {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b label) int { return strings.Compare(a.Key, b.Key) })
	return list
}
