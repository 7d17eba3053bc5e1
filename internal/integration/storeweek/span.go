// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// span is a span to the store, and what the week knows of it.
type span struct {
	sdktrace.ReadWriteSpan

	name       string
	id         trace.SpanID
	trace      trace.TraceID
	start, end time.Time
	status     sdktrace.Status
	errorType  string
	// exception is the type of the exception that it has, "" for none.
	exception string
	// request is a number that a label of its own has, 0 for none.
	request int
	samples int
	// known says that it is of one of the names that the report is about.
	known bool
}

func (s *span) Name() string { return s.name }
func (s *span) SpanContext() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: s.trace, SpanID: s.id, TraceFlags: trace.FlagsSampled})
}
func (s *span) Parent() trace.SpanContext { return trace.SpanContext{} }
func (s *span) InstrumentationScope() instrumentation.Scope {
	return instrumentation.Scope{Name: "shop"}
}
func (s *span) SpanKind() trace.SpanKind         { return trace.SpanKindServer }
func (s *span) StartTime() time.Time             { return s.start }
func (s *span) EndTime() time.Time               { return s.end }
func (s *span) Attributes() []attribute.KeyValue { return nil }
func (s *span) Links() []sdktrace.Link           { return nil }
func (s *span) Status() sdktrace.Status          { return s.status }
func (s *span) Resource() *resource.Resource     { return service }
func (s *span) DroppedAttributes() int           { return 0 }
func (s *span) DroppedLinks() int                { return 0 }
func (s *span) DroppedEvents() int               { return 0 }
func (s *span) ChildSpanCount() int              { return 0 }

func (s *span) Events() []sdktrace.Event {
	if s.exception == "" {
		return nil
	}
	return []sdktrace.Event{{Name: "exception", Attributes: []attribute.KeyValue{attribute.String("exception.type", s.exception)}}}
}

// ends are the spans that run: the first to end is at the top of the heap.
type ends []*span

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i].end.Before(e[j].end) }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(*span)) }

func (e *ends) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = nil
	*e = (*e)[:last]
	return x
}
