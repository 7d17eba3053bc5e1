// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package sums sums the answers of a source: spans, samples and windows. Each sum of the pages
// is here once. The functions are pure.
package sums

import (
	"time"

	"github.com/spanprof/spanprof/store"
)

// Quantile returns the least of sorted times that so many percent of them do not exceed.
func Quantile(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)*percent+99)/100-1]
}

// EachBelow visits the spans of a trace below one in its process, the nearest first. Spans below
// one for which visit returns false are left out.
func EachBelow(root store.Span, trace []store.Span, visit func(store.Span) bool) {
	below := map[string][]store.Span{}
	for _, s := range trace {
		if s.ParentID != "" && s.ProfileID != root.ProfileID && !s.LocalRoot {
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
