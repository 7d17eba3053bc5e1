// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"reflect"
	"sync/atomic"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// sdkStart is a span of the SDK that starts. Each of its methods takes its lock. What never
// changes is read in place, as from an sdkSpan.
type sdkStart struct {
	p  unsafe.Pointer
	at *startLayout
}

// startLayout has the places of fields of a span that was started, of its tracer and of
// the tracer's provider.
type startLayout struct {
	// of is the type of the pointers to spans, nil if the layout is not a known one.
	of reflect.Type

	context, parent, start     uintptr
	tracer, provider, resource uintptr
}

// learnedStart is the layout of the SDK's spans, nil before the first came.
var learnedStart atomic.Pointer[startLayout]

// sdkStartOf returns the span of the SDK that a span is, and whether it is one.
func sdkStartOf(s sdktrace.ReadWriteSpan) (sdkStart, bool) {
	t := reflect.TypeOf(s)
	at := learnedStart.Load()
	if at == nil {
		if at = learnStart(t, s); at == nil {
			return sdkStart{}, false
		}
	}
	if t == nil || t != at.of {
		return sdkStart{}, false
	}
	return at.span(s), true
}

func (at *startLayout) span(s sdktrace.ReadWriteSpan) sdkStart {
	return sdkStart{reflect.ValueOf(s).UnsafePointer(), at}
}

// learnStart returns the layout of spans when it sees the first, nil for other types.
func learnStart(t reflect.Type, s sdktrace.ReadWriteSpan) *startLayout {
	if !isOfSDK(t, "recordingSpan") {
		return nil
	}
	at, ok := startLayoutOf(t)
	if !ok || !at.span(s).agrees(s) {
		at = &startLayout{}
	}
	if !learnedStart.CompareAndSwap(nil, at) {
		return learnedStart.Load()
	}
	return at
}

func startLayoutOf(t reflect.Type) (*startLayout, bool) {
	at := &startLayout{of: t}
	if t.Elem().Kind() != reflect.Struct {
		return nil, false
	}
	tracer, ok := t.Elem().FieldByName("tracer")
	if !ok || !isOfSDK(tracer.Type, "tracer") {
		return nil, false
	}
	return at, fieldsOf{
		"spanContext": {reflect.TypeFor[trace.SpanContext](), &at.context},
		"parent":      {reflect.TypeFor[trace.SpanContext](), &at.parent},
		"startTime":   {reflect.TypeFor[time.Time](), &at.start},
		"tracer":      {tracer.Type, &at.tracer},
	}.find(t) && fieldsOf{
		"provider": {reflect.TypeFor[*sdktrace.TracerProvider](), &at.provider},
	}.find(tracer.Type) && fieldsOf{
		"resource": {reflect.TypeFor[*resource.Resource](), &at.resource},
	}.find(reflect.TypeFor[*sdktrace.TracerProvider]())
}

// agrees reports whether the fields are what the methods say.
func (s sdkStart) agrees(of sdktrace.ReadWriteSpan) bool {
	return s.context().Equal(of.SpanContext()) && s.parent().Equal(of.Parent()) && s.start().Equal(of.StartTime()) && s.resource() == of.Resource()
}

func (s sdkStart) context() *trace.SpanContext { return field[trace.SpanContext](s.p, s.at.context) }
func (s sdkStart) parent() *trace.SpanContext  { return field[trace.SpanContext](s.p, s.at.parent) }
func (s sdkStart) start() *time.Time           { return field[time.Time](s.p, s.at.start) }

func (s sdkStart) resource() *resource.Resource {
	tracer := *field[unsafe.Pointer](s.p, s.at.tracer)
	provider := *field[unsafe.Pointer](tracer, s.at.provider)
	return *field[*resource.Resource](provider, s.at.resource)
}
