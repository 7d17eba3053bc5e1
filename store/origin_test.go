// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// Local roots are counted by tracer: those that something labelled, and those that
// nothing did, for which attributes alone are looked at.
func TestTracers(t *testing.T) {
	s := newStore(t)
	bare := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor()))
	wrapped := spanprof.NewTracerProvider(bare)
	for range 3 {
		_, span := bare.Tracer("before").Start(t.Context(), "GET /")
		span.End()
	}
	ctx, root := wrapped.Tracer("after").Start(t.Context(), "GET /")
	_, child := wrapped.Tracer("after").Start(ctx, "child")
	child.End()
	root.End()
	want := []store.Tracer{{Name: "before", Roots: 3, Unlabelled: 3}, {Name: "after", Roots: 1}}
	if diff := cmp.Diff(want, s.Tracers()); diff != "" {
		t.Error(diff)
	}

	// The SDK kept one attribute, and it was not ours.
	limited := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor()),
		sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{AttributeCountLimit: 1, AttributeValueLengthLimit: -1, EventCountLimit: -1, LinkCountLimit: -1, AttributePerEventCountLimit: -1, AttributePerLinkCountLimit: -1})))
	_, full := limited.Tracer("limited").Start(t.Context(), "GET /")
	full.SetAttributes(attribute.Int("own", 1))
	full.End()
	if diff := cmp.Diff(want, s.Tracers()); diff != "" {
		t.Error("with a span that lost attributes:", diff)
	}

	for i := range 100 {
		_, span := bare.Tracer(fmt.Sprint("tracer ", i)).Start(t.Context(), "GET /")
		span.End()
	}
	var other int64
	for _, tracer := range s.Tracers() {
		if tracer.Name == "other" {
			other = tracer.Roots
		}
	}
	if n := len(s.Tracers()); n != 65 || other != 38 {
		t.Errorf("%d tracers, of which other has %d spans", n, other)
	}
}

// The resource of spans names the service of profiles that follow.
func TestSpanResource(t *testing.T) {
	s := newStore(t)
	if r := s.SpanResource(); r != nil {
		t.Errorf("resource %v before a span", r)
	}
	shop := resource.NewSchemaless(attribute.String("service.name", "shop"))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor()), sdktrace.WithResource(shop))
	_, span := tp.Tracer("test").Start(t.Context(), "GET /")
	span.End()
	if r := s.SpanResource(); !r.Equal(tpResource(span)) {
		t.Errorf("resource %v, want %v", r, tpResource(span))
	}
	// The first profile may have got its resource before the span.
	for i, want := range []int{0, 1, 1} {
		export(t, s, inWindow(i, exporter.KindCPU, cpuProfile()))
		export(t, s, inWindow(i, exporter.KindHeap, heapProfile(1)))
		if spans, known, others := s.Services(); spans != "shop" || !known || len(others) != want {
			t.Errorf("after profile %d: spans of %q, others %q", i, spans, others)
		}
	}
}

func tpResource(span any) *resource.Resource { return span.(sdktrace.ReadOnlySpan).Resource() }
