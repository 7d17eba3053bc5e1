// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/store"
)

// Quantiles are of the sorted durations. Manual exemplars have none.
func TestNameSpreads(t *testing.T) {
	var spans []store.Span
	for i := range 20 {
		spans = append(spans, store.Span{Service: "cart", Name: "GET /", Duration: time.Duration(20 - i), CPU: 1, CPUInclusive: time.Duration(i)})
	}
	spans = append(spans, store.Span{Service: "shop", Name: "GET /", Manual: true, Duration: 99, CPU: 4, CPUInclusive: 4})
	want := map[nameKey]*Spread{
		{Service: "cart", Name: "GET /"}: {Below: 170, Measured: 20, Durations: &Times{P50: 10, P95: 19, Max: 20}},
		{Service: "shop", Name: "GET /"}: {Measured: 1},
	}
	if diff := cmp.Diff(want, nameSpreads(spans)); diff != "" {
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
	for of, s := range nameSpreads(spans) {
		got[of.Name] = s.Below
	}
	want := map[string]time.Duration{"request": 1110, "walk": 100, "other": 1000, "circle": 0, "another": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
