// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package sums

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/internal/sorting"
	"github.com/spanprof/spanprof/store"
)

// AttributeKey is a key of attributes, and the number of spans that have it.
type AttributeKey struct {
	Key   string `json:"key"`
	Spans int    `json:"spans"`
}

// AttributeKeys counts the keys of spans and of their children. The most frequent are first.
func AttributeKeys(spans []store.Span) []AttributeKey {
	counts, last := make(map[string]int), make(map[string]int)
	for i := range spans {
		for _, a := range spans[i].Attributes {
			if last[a.Key] != i+1 { // several values count once
				last[a.Key] = i + 1
				counts[a.Key]++
			}
		}
	}
	keys := make([]AttributeKey, 0, len(counts))
	for key, n := range counts {
		keys = append(keys, AttributeKey{key, n})
	}
	sorting.Func(keys, func(a, b AttributeKey) int {
		return cmp.Or(cmp.Compare(b.Spans, a.Spans), strings.Compare(a.Key, b.Key))
	})
	return keys
}

// AttributeTotal is the sum of the spans with one value of an attribute. Shared is set if one
// of the spans has other values too, or has this one from a child.
type AttributeTotal struct {
	Value                 string
	Spans, Errors         int
	Duration, MaxDuration time.Duration
	CPU                   time.Duration
	Shared                bool
}

// AttributeTotals sums spans by the values of an attribute, by descending CPU time. A span
// counts for each of its values and for each of its children's.
func AttributeTotals(spans []store.Span, key string) []AttributeTotal {
	totals := make(map[string]*AttributeTotal)
	var values []string
	for i := range spans {
		s := &spans[i]
		values = values[:0]
		ofChild := false
		for _, a := range s.Attributes {
			if a.Key != key {
				continue
			}
			ofChild = ofChild || a.Child != ""
			if !slices.Contains(values, a.Value) {
				values = append(values, a.Value)
			}
		}
		for _, value := range values {
			t := totals[value]
			if t == nil {
				t = &AttributeTotal{Value: value}
				totals[value] = t
			}
			t.Shared = t.Shared || ofChild || len(values) > 1
			t.Spans++
			t.Duration += s.Duration
			t.MaxDuration = max(t.MaxDuration, s.Duration)
			t.CPU += s.CPU
			if s.Err {
				t.Errors++
			}
		}
	}
	list := make([]AttributeTotal, 0, len(totals))
	for _, t := range totals {
		list = append(list, *t)
	}
	sorting.Func(list, func(a, b AttributeTotal) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Duration, a.Duration), strings.Compare(a.Value, b.Value))
	})
	return list
}
