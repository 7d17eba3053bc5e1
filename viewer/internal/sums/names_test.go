// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package sums_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer/internal/sums"
)

// Quantiles are of the sorted durations. Manual exemplars have none.
func TestNameSpreads(t *testing.T) {
	var spans []store.Span
	for i := range 20 {
		spans = append(spans, store.Span{Service: "cart", Name: "GET /", Duration: time.Duration(20 - i), CPU: 1, CPUInclusive: time.Duration(i)})
	}
	spans = append(spans, store.Span{Service: "shop", Name: "GET /", Manual: true, Duration: 99, CPU: 4, CPUInclusive: 4})
	want := map[sums.Name]*sums.Spread{
		{Service: "cart", Name: "GET /"}: {Below: 170, Measured: 20, Durations: &sums.Times{P50: 10, P95: 19, Max: 20}},
		{Service: "shop", Name: "GET /"}: {Measured: 1},
	}
	if diff := cmp.Diff(want, sums.NameSpreads(spans)); diff != "" {
		t.Error(diff)
	}
}

// CPU time of a span counts once for each name of the spans above it, also in a circle.
func TestNameSpreadsBelow(t *testing.T) {
	spans := []store.Span{
		{ProfileID: "1", Name: "request", CPU: 1, CPUInclusive: 1111},
		{ProfileID: "2", Name: "walk", Above: "1", CPU: 10, CPUInclusive: 1110},
		{ProfileID: "3", Name: "other", Above: "2", CPU: 100, CPUInclusive: 1100},
		{ProfileID: "4", Name: "walk", Above: "3", CPU: 1000, CPUInclusive: 1000},
		{ProfileID: "5", Name: "circle", Above: "6"},
		{ProfileID: "6", Name: "another", Above: "5", CPUInclusive: 7},
	}
	got := map[string]time.Duration{}
	for of, s := range sums.NameSpreads(spans) {
		got[of.Name] = s.Below
	}
	want := map[string]time.Duration{"request": 1110, "walk": 100, "other": 1000, "circle": 0, "another": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Parents may form a circle, and a span in another process is no local child.
func TestEachBelow(t *testing.T) {
	span := func(id, parent string, root bool) store.Span {
		return store.Span{ProfileID: id, ParentID: parent, LocalRoot: root}
	}
	root := span("1", "3", false)
	trace := []store.Span{root, span("2", "1", false), span("3", "2", false), span("4", "1", true), span("5", "4", false), span("6", "9", false)}
	ids := func(spans []store.Span) (ids string) {
		for _, s := range spans {
			ids += fmt.Sprint(s.ProfileID)
		}
		return ids
	}
	for _, test := range []struct{ leaveOut, want string }{{"", "23"}, {"2", "2"}} {
		var visited []store.Span
		sums.EachBelow(root, trace, func(s store.Span) bool {
			visited = append(visited, s)
			return s.ProfileID != test.leaveOut
		})
		if got := ids(visited); got != test.want {
			t.Errorf("visited %s, want %s", got, test.want)
		}
	}
}
