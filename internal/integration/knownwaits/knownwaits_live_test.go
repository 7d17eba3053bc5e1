// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package main

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exectrace"
)

// TestKnownWaits holds the analysis to the blockers' names and to sums. What the program
// prints about times depends on the machine, and is not asserted.
func TestKnownWaits(t *testing.T) {
	deadline, ok := t.Deadline()
	if !ok {
		deadline = time.Now().Add(time.Minute)
	}
	ctx, cancel := context.WithDeadline(t.Context(), deadline.Add(-10*time.Second))
	defer cancel()
	damaged := 0
	// On a busy machine a wait may be over before it begins: then it has to be longer.
	for wait := 20 * time.Millisecond; ; wait *= 2 {
		results, _, err := record(wait)
		// The runtime of Go 1.26.8 rarely writes a trace that no reader can read, see tracesoak.
		if _, ok := errors.AsType[*exectrace.ParseError](err); ok && damaged < 2 {
			damaged++
			t.Logf("THE RUNTIME WROTE A TRACE BADLY: %v", err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var wrong []string
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
			if r.waited == 0 || !slices.Equal(r.blockers, r.known.blockers) {
				wrong = append(wrong, r.name)
				t.Logf("waits of %v: %s: waited %v (%s), for %q, want %q", wait, r.name, r.waited, r.state, r.blockers, r.known.blockers)
			}
		}
		if len(wrong) == 0 || t.Failed() {
			return
		}
		if ctx.Err() != nil || wait > 2*time.Second {
			t.Fatalf("wrong to the last: %q", wrong)
		}
	}
}
