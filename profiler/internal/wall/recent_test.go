// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"math"
	"testing"
	"time"
)

// Ten rounds a second at first, and one a second after ten minutes.
func TestRecentIsTheLastMinute(t *testing.T) {
	var r recent
	if rate, share := r.until(mark{}); rate != 0 || share != 0 {
		t.Errorf("%v rounds/s and %v of a core of nothing", rate, share)
	}
	m := mark{at: time.Unix(0, 0)}
	for i := range 1200 {
		r.add(m)
		m.at = m.at.Add(500 * time.Millisecond)
		m.rounds += 5
		m.cpu += 10 * time.Millisecond
		if rate, share := r.until(m); rate != 10 || math.Abs(share-0.02) > 1e-9 {
			t.Fatalf("step %d: %v rounds/s and %v of a core, want 10 and 0.02", i, rate, share)
		}
	}
	for range 61 {
		r.add(m)
		m.at = m.at.Add(time.Second)
		m.rounds++
		m.cpu += 5 * time.Millisecond
	}
	if rate, share := r.until(m); rate != 1 || math.Abs(share-0.005) > 1e-9 {
		t.Errorf("%v rounds/s and %v of a core after a minute, want 1 and 0.005", rate, share)
	}
	if len(r.marks) > 61 {
		t.Errorf("%d marks are kept of a minute", len(r.marks))
	}
}
