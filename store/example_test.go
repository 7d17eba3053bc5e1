// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"fmt"
	"time"

	"github.com/google/pprof/profile"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// A store joins the spans of a tracer provider with the samples of a profile.
func Example() {
	s, err := store.New(store.WithMaxBytes(32 << 20))
	if err != nil {
		fmt.Println(err)
		return
	}
	tp := sdktrace.NewTracerProvider()
	tp.RegisterSpanProcessor(s.SpanProcessor())

	start := time.Now()
	ctx, span := tp.Tracer("example").Start(context.Background(), "GET /cart")
	id := span.SpanContext().SpanID().String()
	span.End()

	// The profiler does this.
	window := exporter.Window{Kind: exporter.KindCPU, Start: start, Duration: 10 * time.Second}
	if err := s.Export(ctx, exporter.NewParsedProfile(window, exampleProfile(id))); err != nil {
		fmt.Println(err)
		return
	}

	view, err := s.View(ctx, time.Time{}, time.Time{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer view.Close()
	spans, err := view.Spans(store.SpanQuery{Order: store.MostCPU, Limit: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, span := range spans.Spans {
		fmt.Println(span.Name, span.CPU)
	}
	// Output:
	// GET /cart 30ms
}

// exampleProfile has three samples of the span.
func exampleProfile(id string) *profile.Profile {
	f := &profile.Function{ID: 1, Name: "main.total"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f, Line: 7}}}
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Sample: []*profile.Sample{{
			Location: []*profile.Location{l},
			Value:    []int64{3, 30_000_000},
			Label:    map[string][]string{"profile_id": {id}, "span_id": {id}},
		}},
		Location: []*profile.Location{l},
		Function: []*profile.Function{f},
	}
}
