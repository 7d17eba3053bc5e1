// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/store"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/exporter"
)

// fillStore adds spans of two services that end in any order, some with samples. It adds manual
// exemplars with and without a name.
func fillStore(t *testing.T, s *store.Store) {
	t.Helper()
	random := newGenerator().rand
	cart := resource.NewSchemaless(attribute.String("service.name", "cart"))
	providers := []*sdktrace.TracerProvider{newTracerProvider(s), sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor()), sdktrace.WithResource(cart))}
	var samples []sample
	for i := range 1000 {
		name := fmt.Sprint("GET /", i%7)
		_, span := providers[i%2].Tracer("").Start(t.Context(), name, at(random.Float64()))
		// Few different times, so that some are equal.
		span.End(at(1 + float64(random.IntN(20))/10))
		if i%3 == 0 {
			samples = append(samples, sample{"f", 1 + random.Int64N(5), labels("span_id", idOf(span), "profile_id", idOf(span), "span_name", name[:5])})
		}
	}
	for i := range 30 {
		samples = append(samples, sample{"f", 1 + random.Int64N(5), labels("profile_id", fmt.Sprint("job ", i), "span_name", []string{"", "GET /1", "import"}[i%3])})
	}
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(samples...)))
}

// A limit leaves out what comes later, and changes nothing else.
func TestLimit(t *testing.T) {
	s := newStore(t)
	fillStore(t, s)
	for _, order := range []store.Order{store.Newest, store.Slowest, store.MostCPU} {
		for _, name := range []string{"", "GET /1"} {
			all := s.Spans(store.SpanQuery{Order: order, Name: name})
			for _, limit := range []int{1, 2, 10, 100, len(all) - 1, len(all), len(all) + 1, math.MaxInt} {
				got := s.Spans(store.SpanQuery{Order: order, Name: name, Limit: limit})
				if diff := cmp.Diff(all[:min(limit, len(all))], got); diff != "" {
					t.Fatalf("order %d, name %q, limit %d: %s", order, name, limit, diff)
				}
			}
		}
	}
}

// Samples carry a name that was cut, "other", or one from before SetName.
func TestLabelOfSamples(t *testing.T) {
	s := newStore(t)
	tracer := newTracerProvider(s).Tracer("")
	_, early := tracer.Start(t.Context(), "GET /checkout", at(0))
	_, late := tracer.Start(t.Context(), "GET /checkout", at(0))
	early.End(at(0.5))
	late.End(at(0.6))
	id := idOf(early)
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(
		sample{"f", 1, labels("profile_id", id, "span_id", id, "span_name", "other")},
		sample{"f", 1, labels("profile_id", id, "span_id", "00000000000000cc", "span_name", "child")},
		sample{"f", 1, labels("profile_id", "00000000000000bb", "span_name", "child")},
	)))
	for id, want := range map[string]string{id: "other", idOf(late): "", "00000000000000cc": "child", "00000000000000bb": "child"} {
		if got, ok := s.Span(id); !ok || got.Label != want {
			t.Errorf("span %s has the label %q, want %q", id, got.Label, want)
		}
	}
	if got := s.NameTotals()[0]; got.Name != "GET /checkout" || got.Spans != 2 || got.Label != "other" && got.Label != "child" || got.CPU != 2*tick {
		t.Errorf("%+v", got)
	}
}

func BenchmarkNameTotals(b *testing.B) {
	s := newStore(b)
	p := s.SpanProcessor()
	for i := range 50000 {
		p.OnEnd(localRootSpan([8]byte{1, byte(i >> 8), byte(i)}))
	}
	b.ReportAllocs()
	for b.Loop() {
		s.NameTotals()
	}
}
