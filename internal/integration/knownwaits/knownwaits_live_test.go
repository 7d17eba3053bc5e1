// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

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

// TestKnownWaits holds the analysis to the blockers' names and to sums. What the program
// prints about times depends on the machine, and is not asserted.
func TestKnownWaits(t *testing.T) {
	damaged := 0
	// On a busy machine a wait may be over before it begins: then it has to be longer.
	livetest.Doubling(t, 20*time.Millisecond, func(wait time.Duration) string {
		results, _, err := record(wait)
		// The runtime of Go 1.26.8 rarely writes a trace that no reader can read, see tracesoak.
		if _, ok := errors.AsType[*exectrace.ParseError](err); ok && damaged < 2 {
			damaged++
			return fmt.Sprintf("THE RUNTIME WROTE A TRACE BADLY: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		var right int64
		for i := range results {
			r := &results[i]
			if r.sum < 0.999 || r.sum > 1.001 {
				t.Errorf("%s: states and holes add up to %.4f of the span", r.name, r.sum)
			}
			if r.span.ID == "" {
				t.Errorf("%s: the span has no id", r.name)
			}
			if len(r.holes) != 0 {
				t.Errorf("%s: holes %+v", r.name, r.holes)
			}
			if r.waited > 0 && slices.Equal(r.blockers, r.known.blockers) {
				right++
			} else {
				t.Logf("waits of %v: %s: waited %v (%s), for %q, want %q", wait, r.name, r.waited, r.state, r.blockers, r.known.blockers)
			}
		}
		return livetest.Few(right, int64(len(results)), "waits with the known blockers")
	})
}
