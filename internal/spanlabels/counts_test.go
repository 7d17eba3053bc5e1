// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlabels_test

import (
	"encoding/binary"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/spanlabels"
)

// The first spans count exactly, later ones by one trace in 64. Unsampled spans are apart,
// and a no-op's spans do not count.
func TestCount(t *testing.T) {
	counts := &spanlabels.Counts
	counts.Sampled.Store(0)
	counts.Unsampled.Store(0)
	start := func(first, spans uint64, sampled bool) {
		for i := range spans {
			var id trace.TraceID
			binary.BigEndian.PutUint64(id[8:], first+i)
			spanlabels.Count(id, sampled)
		}
	}
	for _, step := range []struct {
		first, spans       uint64
		sampled            bool
		sampledN, unsample uint64
	}{
		{2, 10, false, 0, 10},
		{2, 5, true, 5, 10},
		{0, 1, true, 5, 10},
		{65, 58, true, 63, 10}, // an id that counts for 64 later
		{2, 1, true, 64, 10},
		{2, 63, true, 64, 10},
		{65, 1, true, 128, 10},
		{192, 6400, true, 6528, 10},
	} {
		start(step.first, step.spans, step.sampled)
		if sampled, unsampled := counts.Sampled.Load(), counts.Unsampled.Load(); sampled != step.sampledN || unsampled != step.unsample {
			t.Errorf("after %d from %d: %d sampled and %d unsampled, want %d and %d", step.spans, step.first, sampled, unsampled, step.sampledN, step.unsample)
		}
	}
}
