// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Oldwrapper prints the cost over the bare SDK of a span with profile id, profile
// URL and baseline URL. It compares spanprof with otel-profiling-go
// v0.5.0, the last version that sets URLs. Package paired documents the columns.
//
//	GOWORK=off go -C internal/integration/peers run ./oldwrapper
package main

import (
	"context"
	"flag"
	"os"
	"slices"

	pyroscope "github.com/pyroscope-io/otel-profiling-go"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/integration/spanbench/paired"
)

const address = "http://localhost:4040"

func main() {
	rounds := flag.Int("rounds", 600, "batches of each wrapper")
	flag.Parse()
	sdk := sdktrace.NewTracerProvider() // without processors: what a span costs, not what is done with it
	urls := []spanprof.Option{
		spanprof.WithAppName("app"), spanprof.WithPyroscopeURL(address),
		spanprof.WithProfileURL(true), spanprof.WithProfileBaselineURL(true),
	}
	ours := spanprof.NewTracerProvider(sdk, urls...)
	v050 := pyroscope.NewTracerProvider(sdk, pyroscope.WithAppName("app"), pyroscope.WithPyroscopeURL(address),
		pyroscope.WithAddSpanName(true), pyroscope.WithProfileURL(true), pyroscope.WithProfileBaselineURL(true))
	table := paired.NewTable(os.Stdout, *rounds)
	paired.Scenario{Name: "root with profile id, URL and baseline URL", Candidates: []*paired.Candidate{
		{Name: "bare SDK", Span: root(sdk)},
		{Name: "one SetAttributes of the same three, made before", Span: withAttributes(sdk, attributesOf(ours))},
		{Name: "spanprof", Span: root(ours)},
		{Name: "otel-profiling-go v0.5.0", Span: root(v050)},
	}}.Print(table, *rounds)
	_ = table.Flush()
}

func root(tp trace.TracerProvider) func() { return withAttributes(tp, nil) }

// withAttributes returns a function that starts a local root, sets attributes if
// there are any, and ends it.
func withAttributes(tp trace.TracerProvider, attributes []attribute.KeyValue) func() {
	tracer := tp.Tracer("oldwrapper")
	return func() {
		_, span := tracer.Start(context.Background(), "operation")
		if attributes != nil {
			span.SetAttributes(slices.Clone(attributes)...)
		}
		span.End()
	}
}

// attributesOf returns what a wrapper sets on a span.
func attributesOf(tp trace.TracerProvider) []attribute.KeyValue {
	_, span := tp.Tracer("oldwrapper").Start(context.Background(), "operation")
	span.End()
	return span.(sdktrace.ReadOnlySpan).Attributes()
}
