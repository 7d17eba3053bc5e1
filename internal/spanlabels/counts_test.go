// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlabels

import (
	"testing"

	"go.opentelemetry.io/otel/trace"
)

// One trace in 64 counts for the others.
func TestCount(t *testing.T) {
	var p Provider
	for i := range 1 << 10 {
		p.Count(trace.TraceID{14: byte(i >> 8), 15: byte(i)}, i%1024 >= 256)
	}
	p.Count(trace.TraceID{}, false) // of an invalid span
	if sampled, unsampled := p.Spans(); sampled != 768 || unsampled != 256 {
		t.Errorf("%d sampled and %d not, want 768 and 256", sampled, unsampled)
	}
}
