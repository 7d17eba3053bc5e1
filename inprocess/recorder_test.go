// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"testing"

	"github.com/spanprof/spanprof/store"
)

// Spans are lost after a shutdown, until the store records one again.
func TestLostSpans(t *testing.T) {
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{SpanProcessor: s.SpanProcessor(), store: s}
	for _, step := range []struct {
		what          string
		shut          bool
		ended         int64
		sampled, want uint64
	}{
		{"running", false, 0, 10, 0},
		{"the shutdown", true, 0, 0, 0},
		{"lost", false, 0, 30, 30},
		{"lost again", false, 0, 40, 40},
		{"one was recorded", false, 1, 50, 0},
		{"lost after that", false, 1, 60, 10},
		{"a provider was collected", false, 1, 5, 0},
		{"lost after that", false, 1, 6, 1},
	} {
		if step.shut {
			if err := r.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.lost(step.ended, step.sampled); got != step.want {
			t.Errorf("%s: %d lost, want %d", step.what, got, step.want)
		}
	}
}
