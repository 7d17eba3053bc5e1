// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package labelfacts_test

import (
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/labelfacts"
)

// The count of spans is that of all ids, as one in 64 stands for the others.
func TestCount(t *testing.T) {
	var l labelfacts.Labeller
	for i := range 1 << 10 {
		l.Count(trace.TraceID{14: byte(i >> 8), 15: byte(i)}, i%1024 >= 256)
	}
	l.Count(trace.TraceID{}, false) // of a span that is none
	if sampled, unsampled := l.Counts(); sampled != 768 || unsampled != 256 {
		t.Errorf("%d sampled and %d not, want 768 and 256", sampled, unsampled)
	}
}
