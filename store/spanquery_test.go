// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/store"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
)

func TestSpanQuery(t *testing.T) {
	s := newStore(t)
	tracer := newTracerProvider(s).Tracer("")
	_, a := tracer.Start(t.Context(), "GET /Cart", at(0))
	a.End(at(1))
	_, b := tracer.Start(t.Context(), "GET /items", at(1))
	b.SetStatus(codes.Error, "")
	b.End(at(3))
	cart := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor()),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "cart"))))
	_, c := cart.Tracer("").Start(t.Context(), "add to cart", at(2))
	c.End(at(6))
	_, running := spanprof.NewTracerProvider(newTracerProvider(s)).Tracer("").Start(t.Context(), "GET /cart/slow", at(5))
	defer running.End()
	export(t, s, inWindow(4, exporter.KindCPU, cpuProfile(sample{"f", 1, labels("profile_id", "job", "span_name", "cart job", "trace_id", "T")})))

	for _, test := range []struct {
		name string
		q    store.SpanQuery
		want string
	}{
		{"part of the name", store.SpanQuery{Contains: "cART"}, "add to cart, cart job, GET /Cart"},
		{"trace", store.SpanQuery{TraceID: strings.ToUpper(b.SpanContext().TraceID().String())}, "GET /items"},
		{"trace of an exemplar", store.SpanQuery{TraceID: "t"}, "cart job"},
		{"no trace's id", store.SpanQuery{TraceID: strings.Repeat("0", 32)}, ""},
		{"longer", store.SpanQuery{MinDuration: 4 * step}, "add to cart"},
		{"at a moment", store.SpanQuery{From: epoch.Add(2 * step), Until: epoch.Add(2*step + 1)}, "add to cart, GET /items"},
		{"running", store.SpanQuery{Running: true, Limit: 2}, "GET /cart/slow, add to cart"},
		{"running for long", store.SpanQuery{Running: true, MinDuration: 5 * step}, "GET /cart/slow"},
	} {
		var names []string
		for _, span := range s.Spans(test.q) {
			names = append(names, span.Name)
		}
		if got := strings.Join(names, ", "); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

func TestRunningSpans(t *testing.T) {
	s := newStore(t)
	tracer := spanprof.NewTracerProvider(newTracerProvider(s)).Tracer("")
	ctx, root := tracer.Start(t.Context(), "GET", at(0))
	_, child := tracer.Start(ctx, "child")
	defer child.End()
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(sample{"f", 3, labels("profile_id", idOf(root), "span_id", idOf(root), "span_name", "GET")})))
	got := s.Spans(store.SpanQuery{Running: true, TraceID: root.SpanContext().TraceID().String()})
	if len(got) != 1 || s.Stats().SpansRunning == 0 || s.Stats().Spans != 0 {
		t.Fatalf("%+v, want the local root alone", got)
	}
	span := got[0]
	if span.Duration <= 0 || time.Since(span.Start.Add(span.Duration)) > time.Hour {
		t.Error("duration so far:", span.Duration)
	}
	span.Duration = 0
	want := store.Span{
		ProfileID: idOf(root), TraceID: root.SpanContext().TraceID().String(), Name: "GET", Service: "checkout", Start: epoch,
		LocalRoot: true, Running: true, CPU: 3 * tick, CPUSamples: 3, CPUInclusive: 3 * tick, SamplesHeld: 3, Label: "GET",
	}
	if diff := cmp.Diff(want, span); diff != "" {
		t.Error(diff)
	}
	root.SetName("GET /cart")
	root.End(at(1))
	ended, ok := s.Span(idOf(root))
	if !ok || ended.Running || ended.Name != "GET /cart" || ended.Label != "GET" || ended.CPU != 3*tick || ended.Duration != step {
		t.Errorf("ended: %+v", ended)
	}
	// Samples from before it had its last name count by that name.
	if got := s.NameTotals(); len(got) != 1 || got[0].Name != "GET /cart" || got[0].Spans != 1 || got[0].CPU != 3*tick || got[0].Label != "GET" {
		t.Errorf("%+v", got)
	}
}
