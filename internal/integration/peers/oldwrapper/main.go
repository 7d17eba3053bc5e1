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

	pyroscope "github.com/pyroscope-io/otel-profiling-go"
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
	v050 := pyroscope.NewTracerProvider(sdk, pyroscope.WithAppName("app"), pyroscope.WithPyroscopeURL(address),
		pyroscope.WithAddSpanName(true), pyroscope.WithProfileURL(true), pyroscope.WithProfileBaselineURL(true))
	table := paired.NewTable(os.Stdout, *rounds)
	paired.Scenario{Name: "root with profile id, URL and baseline URL", Candidates: []*paired.Candidate{
		{Name: "bare SDK", Span: root(sdk)},
		{Name: "spanprof", Span: root(spanprof.NewTracerProvider(sdk, urls...))},
		{Name: "otel-profiling-go v0.5.0", Span: root(v050)},
	}}.Print(table, *rounds)
	_ = table.Flush()
}

// root returns a function that starts and ends a local root.
func root(tp trace.TracerProvider) func() {
	tracer := tp.Tracer("oldwrapper")
	return func() {
		_, span := tracer.Start(context.Background(), "operation")
		span.End()
	}
}
