// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live && linux

package main

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/internal/livetest"
)

// TestKnownWaits checks names of blockers and sums. Times depend on the machine.
func TestKnownWaits(t *testing.T) {
	damaged := 0
	// On a busy machine a wait may be over before it begins: then it must be longer.
	livetest.Doubling(t, 20*time.Millisecond, func(wait time.Duration) string {
		results, _, err := record(wait)
		// Go 1.26.8 rarely writes a trace that no reader accepts.
		if errors.Is(err, exectrace.ErrDamaged) && damaged < 2 {
			damaged++
			return fmt.Sprintf("THE RUNTIME WROTE A TRACE BADLY: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		var right int64
		for i := range results {
			r := &results[i]
			var sum time.Duration
			for _, state := range r.span.Goroutines[0].States {
				sum += state.Duration
			}
			if sum != r.span.Duration || len(r.span.Holes) != 0 {
				t.Errorf("%s: states add up to %v of %v, holes %+v", r.name, sum, r.span.Duration, r.span.Holes)
			}
			if r.waited > 0 && slices.Equal(r.got, r.blockers) {
				right++
			} else {
				t.Logf("waits of %v: %s: waited %v (%s), for %q, want %q", wait, r.name, r.waited, r.state, r.got, r.blockers)
			}
		}
		return livetest.Few(right, int64(len(results)), "waits with the known blockers")
	})
}
