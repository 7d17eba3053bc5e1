// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package integration

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/conformance"
)

// The root module's tests run the rest of the table, by the oldest SDK that it
// works with.
func TestPanicRecordingOff(t *testing.T) {
	for name, allSpans := range map[string]bool{"root scope": false, "all spans": true} {
		t.Run(name, func(t *testing.T) {
			w := conformance.Wrapper{
				Wrap: func(tp trace.TracerProvider) trace.TracerProvider {
					return spanprof.NewTracerProvider(tp, spanprof.WithRootSpanOnly(!allSpans))
				},
				AllSpans: allSpans,
			}
			if err := w.Run(conformance.PanicRecordingOff(sdktrace.WithoutPanicRecording())); err != nil {
				t.Error(err)
			}
		})
	}
}
