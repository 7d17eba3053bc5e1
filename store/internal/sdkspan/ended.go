// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package sdkspan

import (
	"reflect"
	"sync/atomic"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Ended is the SDK's snapshot of a span that ended. It does not change, and processors keep
// it until it is exported.
type Ended struct {
	p  unsafe.Pointer
	at *endedLayout
}

// Ref refers to a snapshot in one word, and keeps it alive. The zero Ref refers to none.
type Ref struct{ p unsafe.Pointer }

// endedLayout has the places of the fields of the SDK's snapshot.
type endedLayout struct {
	// of is the type of the pointers to snapshots, nil if the layout is not a known one.
	of reflect.Type

	name, context, parent, start, end          uintptr
	attributes, events, links                  uintptr
	status, droppedAttributes, resource, scope uintptr
}

// learnedEnded is the layout of the SDK's snapshots, nil before the first came.
var learnedEnded atomic.Pointer[endedLayout]

// EndedOf returns the snapshot that s is; false if s is no known snapshot of the SDK, and is
// to be asked by its methods.
func EndedOf(s sdktrace.ReadOnlySpan) (Ended, bool) {
	t := reflect.TypeOf(s)
	at := learnedEnded.Load()
	if at == nil {
		if at = learnEnded(t, s); at == nil {
			return Ended{}, false
		}
	}
	if t == nil || t != at.of {
		return Ended{}, false
	}
	return at.span(s), true
}

func (at *endedLayout) span(s sdktrace.ReadOnlySpan) Ended {
	return Ended{reflect.ValueOf(s).UnsafePointer(), at}
}

// learnEnded returns the layout of snapshots when it sees the first, nil for other types.
func learnEnded(t reflect.Type, s sdktrace.ReadOnlySpan) *endedLayout {
	if !isOfSDK(t, "snapshot") {
		return nil
	}
	at, ok := endedLayoutOf(t)
	if !ok || !at.span(s).agrees(s) {
		at = &endedLayout{}
	}
	// Other goroutines may have learned it meanwhile. A Ref needs the layout that it was
	// made with, so it never changes.
	if !learnedEnded.CompareAndSwap(nil, at) {
		return learnedEnded.Load()
	}
	return at
}

// endedLayoutOf returns the places of the fields of a snapshot, and whether all are there.
func endedLayoutOf(t reflect.Type) (*endedLayout, bool) {
	at := &endedLayout{of: t}
	return at, fieldsOf{
		"name":                  {reflect.TypeFor[string](), &at.name},
		"spanContext":           {reflect.TypeFor[trace.SpanContext](), &at.context},
		"parent":                {reflect.TypeFor[trace.SpanContext](), &at.parent},
		"startTime":             {reflect.TypeFor[time.Time](), &at.start},
		"endTime":               {reflect.TypeFor[time.Time](), &at.end},
		"attributes":            {reflect.TypeFor[[]attribute.KeyValue](), &at.attributes},
		"events":                {reflect.TypeFor[[]sdktrace.Event](), &at.events},
		"links":                 {reflect.TypeFor[[]sdktrace.Link](), &at.links},
		"status":                {reflect.TypeFor[sdktrace.Status](), &at.status},
		"droppedAttributeCount": {reflect.TypeFor[int](), &at.droppedAttributes},
		"resource":              {reflect.TypeFor[*resource.Resource](), &at.resource},
		"instrumentationScope":  {reflect.TypeFor[instrumentation.Scope](), &at.scope},
	}.find(t)
}

// agrees reports whether the fields are what the methods say.
func (s Ended) agrees(of sdktrace.ReadOnlySpan) bool {
	return s.Name() == of.Name() && s.SpanContext().Equal(of.SpanContext()) && s.Parent().Equal(of.Parent()) &&
		s.StartTime().Equal(of.StartTime()) && s.EndTime().Equal(of.EndTime()) &&
		reflect.DeepEqual(s.Attributes(), of.Attributes()) && reflect.DeepEqual(s.Events(), of.Events()) && reflect.DeepEqual(s.Links(), of.Links()) &&
		*s.Status() == of.Status() && s.DroppedAttributes() == of.DroppedAttributes() &&
		s.Resource() == of.Resource() && s.InstrumentationScope().Name == of.InstrumentationScope().Name
}

// Ref returns a reference to the snapshot.
func (s Ended) Ref() Ref { return Ref{s.p} }

// IsZero reports whether r refers to no snapshot.
func (r Ref) IsZero() bool { return r.p == nil }

// Ended returns the snapshot. The zero Ref has none to return: the accessors of what it
// returns may not be called.
func (r Ref) Ended() Ended { return Ended{r.p, learnedEnded.Load()} }

// Name returns the name.
func (s Ended) Name() string { return *field[string](s.p, s.at.name) }

// SpanContext returns the context.
func (s Ended) SpanContext() *trace.SpanContext { return field[trace.SpanContext](s.p, s.at.context) }

// Parent returns the context of the parent.
func (s Ended) Parent() *trace.SpanContext { return field[trace.SpanContext](s.p, s.at.parent) }

// StartTime returns when the span started.
func (s Ended) StartTime() *time.Time { return field[time.Time](s.p, s.at.start) }

// EndTime returns when the span ended.
func (s Ended) EndTime() *time.Time { return field[time.Time](s.p, s.at.end) }

// Attributes returns the attributes.
func (s Ended) Attributes() []attribute.KeyValue {
	return *field[[]attribute.KeyValue](s.p, s.at.attributes)
}

// Events returns the events.
func (s Ended) Events() []sdktrace.Event { return *field[[]sdktrace.Event](s.p, s.at.events) }

// Links returns the links.
func (s Ended) Links() []sdktrace.Link { return *field[[]sdktrace.Link](s.p, s.at.links) }

// Status returns the status.
func (s Ended) Status() *sdktrace.Status { return field[sdktrace.Status](s.p, s.at.status) }

// DroppedAttributes returns how many attributes the SDK dropped.
func (s Ended) DroppedAttributes() int { return *field[int](s.p, s.at.droppedAttributes) }

// Resource returns the resource of the tracer's provider.
func (s Ended) Resource() *resource.Resource {
	return *field[*resource.Resource](s.p, s.at.resource)
}

// InstrumentationScope returns the scope of the tracer.
func (s Ended) InstrumentationScope() *instrumentation.Scope {
	return field[instrumentation.Scope](s.p, s.at.scope)
}
