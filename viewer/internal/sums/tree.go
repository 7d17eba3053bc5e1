// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package sums

import "github.com/spanprof/spanprof/store"

// Tree returns a span and the spans of its trace below it, each once.
func Tree(root store.Span, trace []store.Span) []store.Span {
	all := []store.Span{root}
	eachBelow(root, trace, false, func(s store.Span) bool {
		all = append(all, s)
		return true
	})
	return all
}

// EachBelow visits the spans below one in its process, the nearest first. Spans below one for
// which visit returns false are left out.
func EachBelow(root store.Span, trace []store.Span, visit func(store.Span) bool) {
	eachBelow(root, trace, true, visit)
}

func eachBelow(root store.Span, trace []store.Span, inProcess bool, visit func(store.Span) bool) {
	below := map[string][]store.Span{}
	for _, s := range trace {
		if s.ParentID != "" && s.ProfileID != root.ProfileID && (!inProcess || !s.LocalRoot) {
			below[s.ParentID] = append(below[s.ParentID], s)
		}
	}
	todo := []string{root.ProfileID}
	for ; len(todo) > 0; todo = todo[1:] {
		for _, s := range below[todo[0]] {
			if visit(s) {
				todo = append(todo, s.ProfileID)
			}
		}
		delete(below, todo[0]) // parents may form a circle
	}
}
