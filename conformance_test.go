// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/conformance"
)

func TestConformance(t *testing.T) {
	for name, allSpans := range map[string]bool{"root scope": false, "all spans": true} {
		testConformance(t, name, allSpans)
	}
}

func testConformance(t *testing.T, name string, allSpans bool) {
	w := conformance.Wrapper{
		Wrap: func(tp trace.TracerProvider) trace.TracerProvider {
			return spanprof.NewTracerProvider(tp, spanprof.WithRootSpanOnly(!allSpans))
		},
		AllSpans:   allSpans,
		CannotRead: !spanprof.ReadsGoroutineLabels(),
	}
	for _, row := range conformance.Rows {
		t.Run(name+"/"+row.Name, func(t *testing.T) {
			if err := w.Run(row); err != nil {
				t.Error(err)
			}
		})
	}
}
