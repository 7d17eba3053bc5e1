// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/store"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

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
		{"all that ended", store.SpanQuery{}, "add to cart, cart job, GET /items, GET /Cart"},
		{"name", store.SpanQuery{Name: "GET /Cart"}, "GET /Cart"},
		{"part of the name", store.SpanQuery{Contains: "cART"}, "add to cart, cart job, GET /Cart"},
		{"service", store.SpanQuery{Service: "cart"}, "add to cart"},
		{"trace", store.SpanQuery{TraceID: strings.ToUpper(b.SpanContext().TraceID().String())}, "GET /items"},
		{"trace of an exemplar", store.SpanQuery{TraceID: "t"}, "cart job"},
		{"no trace's id", store.SpanQuery{TraceID: strings.Repeat("0", 32)}, ""},
		{"errors", store.SpanQuery{OnlyErrors: true}, "GET /items"},
		{"long", store.SpanQuery{MinDuration: 2 * step}, "add to cart, GET /items"},
		{"short", store.SpanQuery{MaxDuration: 2 * step}, "GET /items, GET /Cart"},
		{"neither", store.SpanQuery{MinDuration: step + 1, MaxDuration: 4*step - 1}, "GET /items"},
		{"from", store.SpanQuery{From: epoch.Add(3 * step)}, "add to cart, cart job"},
		{"until", store.SpanQuery{Until: epoch.Add(step)}, "GET /Cart"},
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

// TestInclusive has a window come before, between and after the ends of spans.
func TestInclusive(t *testing.T) {
	for came := range 4 {
		s := newStore(t)
		tracer := newTracerProvider(s).Tracer("")
		own := attribute.String("pyroscope.profile.id", "")
		ctx, root := tracer.Start(t.Context(), "root", at(0))
		ctx, child := tracer.Start(ctx, "child", at(0))
		_, leaf := tracer.Start(ctx, "leaf", at(0))
		child.SetAttributes(own)
		leaf.SetAttributes(own)
		spans := []trace.Span{leaf, child, root}
		var samples []sample
		for i, id := range []string{idOf(leaf), idOf(child), idOf(root)} {
			samples = append(samples, sample{"f", int64(1) << i, labels("profile_id", id, "span_id", id, "span_name", []string{"leaf", "child", "root"}[i])})
		}
		for i := range 4 {
			if i == came {
				export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(samples...)))
			}
			if i < 3 {
				spans[i].End(at(1))
			}
		}
		for id, want := range map[string][2]time.Duration{
			idOf(leaf):  {1, 1},
			idOf(child): {2, 3},
			idOf(root):  {4, 7},
		} {
			got, _ := s.Span(id)
			if got.CPU != want[0]*tick || got.CPUInclusive != want[1]*tick || got.SamplesHeld != int64(want[0]) {
				t.Errorf("after %d ends: %s has CPU %s, inclusive %s, %d samples", came, got.Name, got.CPU, got.CPUInclusive, got.SamplesHeld)
			}
		}
		totals := s.NameTotals()
		names := make([]string, len(totals))
		for i, total := range totals {
			names[i] = total.Name
			if total.Spans != 1 {
				t.Errorf("%+v", total)
			}
		}
		if !slices.Equal(names, []string{"root", "child", "leaf"}) {
			t.Error("names:", names)
		}
	}
}
