// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package sdkspan

import (
	"reflect"
	"sync/atomic"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Started is a span of the SDK that has started and may run. Its accessors return what never
// changes.
type Started struct {
	p  unsafe.Pointer
	at *startedLayout
}

// startedLayout has the places of fields of a span that was started, of its tracer and of
// the tracer's provider.
type startedLayout struct {
	// of is the type of the pointers to spans, nil if the layout is not a known one.
	of reflect.Type

	context, parent, start     uintptr
	tracer, provider, resource uintptr
}

// learnedStarted is the layout of the SDK's spans, nil before the first came.
var learnedStarted atomic.Pointer[startedLayout]

// StartedOf returns the span of the SDK that s is; false if s is no known span of the SDK, and
// is to be asked by its methods.
func StartedOf(s sdktrace.ReadWriteSpan) (Started, bool) {
	t := reflect.TypeOf(s)
	at := learnedStarted.Load()
	if at == nil {
		if at = learnStarted(t, s); at == nil {
			return Started{}, false
		}
	}
	if t == nil || t != at.of {
		return Started{}, false
	}
	return at.span(s), true
}

func (at *startedLayout) span(s sdktrace.ReadWriteSpan) Started {
	return Started{reflect.ValueOf(s).UnsafePointer(), at}
}

// learnStarted returns the layout of spans when it sees the first, nil for other types.
func learnStarted(t reflect.Type, s sdktrace.ReadWriteSpan) *startedLayout {
	if !isOfSDK(t, "recordingSpan") {
		return nil
	}
	at, ok := startedLayoutOf(t)
	if !ok || !at.span(s).agrees(s) {
		at = &startedLayout{}
	}
	if !learnedStarted.CompareAndSwap(nil, at) {
		return learnedStarted.Load()
	}
	return at
}

// startedLayoutOf returns the places of the fields of a span, and whether all are there.
func startedLayoutOf(t reflect.Type) (*startedLayout, bool) {
	at := &startedLayout{of: t}
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
func (s Started) agrees(of sdktrace.ReadWriteSpan) bool {
	return s.SpanContext().Equal(of.SpanContext()) && s.Parent().Equal(of.Parent()) && s.StartTime().Equal(of.StartTime()) && s.Resource() == of.Resource()
}

// SpanContext returns the context.
func (s Started) SpanContext() *trace.SpanContext {
	return field[trace.SpanContext](s.p, s.at.context)
}

// Parent returns the context of the parent.
func (s Started) Parent() *trace.SpanContext { return field[trace.SpanContext](s.p, s.at.parent) }

// StartTime returns when the span started.
func (s Started) StartTime() *time.Time { return field[time.Time](s.p, s.at.start) }

// Resource returns the resource of the tracer's provider.
func (s Started) Resource() *resource.Resource {
	tracer := *field[unsafe.Pointer](s.p, s.at.tracer)
	provider := *field[unsafe.Pointer](tracer, s.at.provider)
	return *field[*resource.Resource](provider, s.at.resource)
}
