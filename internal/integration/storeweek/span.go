// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// span is a span of the week.
type span struct {
	name       string
	id         trace.SpanID
	trace      trace.TraceID
	start, end time.Time
	status     sdktrace.Status
	errorType  string
	exception  string // its type; "" if it has none
	request    int    // in a label of its own; 0 if it has none
	samples    int
	reported   bool // its name is in the report
}

func (s *span) snapshot() sdktrace.ReadOnlySpan {
	stub := tracetest.SpanStub{
		Name:        s.name,
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: s.trace, SpanID: s.id, TraceFlags: trace.FlagsSampled}),
		SpanKind:    trace.SpanKindServer, StartTime: s.start, EndTime: s.end, Status: s.status, Resource: service,
		InstrumentationScope: instrumentation.Scope{Name: "shop"},
	}
	if s.exception != "" {
		stub.Events = []sdktrace.Event{{Name: "exception", Attributes: []attribute.KeyValue{attribute.String("exception.type", s.exception)}}}
	}
	return stub.Snapshot()
}

// ends are the spans that have not ended. The first to end is at the top of the heap.
type ends []*span

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i].end.Before(e[j].end) }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(*span)) }

func (e *ends) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}
