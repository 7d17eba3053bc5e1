// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/ident"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const step = 10 * time.Second

// at is a moment of the test, in windows.
func at(windows float64) trace.SpanEventOption {
	return trace.WithTimestamp(epoch.Add(time.Duration(windows * float64(step))))
}

func keyOf(s trace.Span) ident.Key { return ident.NewKey(s.SpanContext().SpanID()) }

// childOf returns a child of a span that has ended, with a query.
func childOf(parent trace.Span, query string) sdktrace.ReadOnlySpan {
	return tracetest.SpanStub{
		Name:        "query",
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: parent.SpanContext().TraceID(), SpanID: trace.SpanID{1}}),
		Parent:      parent.SpanContext(),
		Attributes:  []attribute.KeyValue{attribute.String("db.query.text", query)},
	}.Snapshot()
}

// recorder gives local roots to a log.
type recorder struct{ log *Log }

func (r recorder) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) { r.log.Start(s) }
func (r recorder) OnEnd(s sdktrace.ReadOnlySpan)                       { r.log.End(s) }
func (r recorder) Shutdown(context.Context) error                      { return nil }
func (r recorder) ForceFlush(context.Context) error                    { return nil }

func newTracer(l *Log) trace.Tracer {
	checkout := resource.NewSchemaless(attribute.String("service.name", "checkout"))
	return sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder{l}), sdktrace.WithResource(checkout)).Tracer("")
}

// recorderOfAll gives all spans to a log.
type recorderOfAll struct{ recorder }

func (r recorderOfAll) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) {
	if !s.Parent().IsValid() {
		r.log.Start(s)
	}
}

func (r recorderOfAll) OnEnd(s sdktrace.ReadOnlySpan) {
	all := s.Attributes()
	_, size := look(all)
	r.log.end(s, s.Parent().SpanID(), !s.Parent().IsValid(), true, all, size)
}

func newTracerOfAll(l *Log) trace.Tracer {
	return sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorderOfAll{recorder{l}})).Tracer("")
}
