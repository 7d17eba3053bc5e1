// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/conformtest"
	"github.com/spanprof/spanprof/internal/report/reporttest"
)

func TestConformance(t *testing.T) {
	reporttest.Collect(t) // a provider of another make takes no span processors
	for _, test := range []struct {
		name            string
		hidden, allSpan bool
	}{
		{"root scope", false, false},
		{"all spans", false, true},
		{"another make, root scope", true, false},
		{"another make, all spans", true, true},
	} {
		w := conformtest.Wrapper{
			Wrap: func(tp trace.TracerProvider) trace.TracerProvider {
				if test.hidden {
					tp = hiddenProvider{inner: tp}
				}
				return spanprof.NewTracerProvider(tp, spanprof.WithRootSpanOnly(!test.allSpan))
			},
			AllSpans:   test.allSpan,
			CannotRead: !spanprof.ReadsGoroutineLabels(),
		}
		for _, row := range conformtest.Rows {
			if test.hidden && ofSDK[row.Name] {
				continue
			}
			t.Run(test.name+"/"+row.Name, func(t *testing.T) {
				if err := w.Run(row); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// ofSDK are the rows that only the SDK's own types can meet.
var ofSDK = map[string]bool{
	"spans are ReadOnlySpan and ReadWriteSpan of the SDK":       true,
	"Shutdown, ForceFlush, processors and Unwrap are reachable": true,
}
