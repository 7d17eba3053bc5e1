// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"testing"
	"time"
)

// The first round measures an unknown cost, unless the budget can never cover it.
func TestFirstRound(t *testing.T) {
	start := time.Now()
	for _, test := range []struct {
		n    int
		want bool
	}{
		{100, true},
		{100_000, true},
		{5_000_000, true},
		{6_000_000, false},
	} {
		p := newPacer(0.01, 3000, start)
		if got := p.allow(start, test.n); got != test.want {
			t.Errorf("%d goroutines: allowed %t, want %t", test.n, got, test.want)
		}
	}
	p := newPacer(0.01, 3000, start)
	p.spend(time.Millisecond)
	if p.allow(start, 100_000) || !p.allow(start.Add(time.Second), 100_000) {
		t.Error("a first round of unknown cost is taken with less than half a minute's budget, or not with that")
	}
}
