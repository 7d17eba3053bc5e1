// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"context"
	"fmt"
	"runtime/pprof"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/trace"

	otelpyroscope "github.com/spanprof/spanprof"
)

// The snippet that Pyroscope's Go tracing integration publishes, with another
// import path.
func Example_pyroscope() {
	exporter, _ := stdouttrace.New(stdouttrace.WithPrettyPrint())
	tp := trace.NewTracerProvider(trace.WithSampler(trace.AlwaysSample()), trace.WithBatcher(exporter))
	otel.SetTracerProvider(otelpyroscope.NewTracerProvider(tp,
		otelpyroscope.WithAppName("simple.golang.app"),
		otelpyroscope.WithPyroscopeURL("http://pyroscope-server:4040"),
		otelpyroscope.WithRootSpanOnly(true),
		otelpyroscope.WithAddSpanName(true),
		otelpyroscope.WithProfileURL(true),
		otelpyroscope.WithProfileBaselineURL(true),
	))

	ctx, span := otel.Tracer("example").Start(context.Background(), "root")
	name, _ := pprof.Label(ctx, "span_name")
	id, _ := pprof.Label(ctx, "profile_id")
	fmt.Println(name, id == span.SpanContext().SpanID().String())
	// Output: root true
}

func ExampleNewTracerProvider() {
	tp := otelpyroscope.NewTracerProvider(trace.NewTracerProvider(), otelpyroscope.WithRootSpanOnly(false))
	defer func() { _ = tp.Shutdown(context.Background()) }()

	ctx, request := tp.Tracer("example").Start(context.Background(), "GET /search")
	ctx, query := tp.Tracer("example").Start(ctx, "query")
	name, _ := pprof.Label(ctx, otelpyroscope.LabelSpanName)
	fmt.Println(name)
	query.End()
	request.End()
	// Output: query
}
