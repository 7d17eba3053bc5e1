// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// TestAfterEnd has a goroutine work for a span that has ended: by itself, and inside
// another span.
func TestAfterEnd(t *testing.T) {
	s := newStore(t, store.WithMaxBytes(8<<20))
	tracer := newTracerProvider(s).Tracer("")
	ctx, root := tracer.Start(t.Context(), "root", at(0))
	_, gone := tracer.Start(ctx, "GET /", at(0), trace.WithAttributes(attribute.String("pyroscope.profile.id", "x")))
	gone.SetStatus(codes.Error, "outlives the window")
	gone.End(at(0.01))
	root.End(at(1))
	id, rootID := idOf(gone), idOf(root)
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(
		sample{"main;own", 1, labels("span_id", id, "profile_id", id, "span_name", "GET /")},
		sample{"main;later", 30, labels("ended_span_id", id)},
		sample{"main;nested", 5, labels("ended_span_id", id, "span_id", rootID, "profile_id", rootID, "span_name", "root")},
		sample{"main;other", 1, labels("ended_span_id", "00000000000000ff")})))

	check := func(when string) {
		t.Helper()
		span, _ := s.Span(id)
		if span.CPU != tick || span.CPUSamples != 1 || span.CPUInclusive != tick || span.SamplesHeld != 1 {
			t.Errorf("%s: %v in %d samples, %v with children", when, span.CPU, span.CPUSamples, span.CPUInclusive)
		}
		if span.CPUAfterEnd != 35*tick || span.CPUAfterEndSamples != 35 {
			t.Errorf("%s: after its end %v in %d samples, want 350 ms in 35", when, span.CPUAfterEnd, span.CPUAfterEndSamples)
		}
		sel := selectCPU(t, s, matcher(t, "ended_span_id", store.MatchEqual, id))
		if got, want := folded(sel), []string{fmt.Sprint("main;later ", int64(30*tick)), fmt.Sprint("main;nested ", int64(5*tick))}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
		if got, want := folded(selectCPU(t, s, matcher(t, "span_id", store.MatchEqual, id))), []string{fmt.Sprint("main;own ", int64(tick))}; !slices.Equal(got, want) {
			t.Errorf("%s: the span's own %v, want %v", when, got, want)
		}
	}
	check("at first")
	if span, _ := s.Span(rootID); span.CPU != 5*tick || span.CPUInclusive != 6*tick || span.CPUAfterEnd != 0 {
		t.Errorf("the span around it: %v, %v with children, %v after its end", span.CPU, span.CPUInclusive, span.CPUAfterEnd)
	}
	// They stay for as long as the samples of a span that is kept.
	fillUp(t, s)
	check("when the window is gone")
}
