// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

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

// sdkSpan is what the SDK gives to span processors of a span that ended. It does not
// change, and processors keep it until it is exported. Each of its methods copies all of
// it, some 400 bytes: to ask it all that the log wants takes as long as what the log then
// does. So its fields are read in place, if their names and types are the known ones and
// the first snapshot's fields are what its methods say. Any other span is asked by its
// methods.
type sdkSpan struct {
	p  unsafe.Pointer
	at *layout
}

// layout has the places of the fields of the SDK's snapshot.
type layout struct {
	// of is the type of the pointers to snapshots, nil if the layout is not a known one.
	of reflect.Type

	name, context, parent, start, end          uintptr
	attributes, events, links                  uintptr
	status, droppedAttributes, resource, scope uintptr
}

// learned is the layout of the SDK's snapshots, nil before the first came.
var learned atomic.Pointer[layout]

// sdkSpanOf returns the snapshot that a span is, and whether it is one.
func sdkSpanOf(s sdktrace.ReadOnlySpan) (sdkSpan, bool) {
	t := reflect.TypeOf(s)
	at := learned.Load()
	if at == nil {
		if at = learn(t, s); at == nil {
			return sdkSpan{}, false
		}
	}
	if t == nil || t != at.of {
		return sdkSpan{}, false
	}
	return at.span(s), true
}

func (at *layout) span(s sdktrace.ReadOnlySpan) sdkSpan {
	return sdkSpan{reflect.ValueOf(s).UnsafePointer(), at}
}

// learn returns the layout of snapshots when it sees the first, nil for other types.
func learn(t reflect.Type, s sdktrace.ReadOnlySpan) *layout {
	if !isOfSDK(t, "snapshot") {
		return nil
	}
	at, ok := layoutOf(t)
	if !ok || !at.span(s).agrees(s) {
		at = &layout{}
	}
	// Others may have learned it meanwhile. Events in the rings need the one that they
	// came with, so it never changes.
	if !learned.CompareAndSwap(nil, at) {
		return learned.Load()
	}
	return at
}

// isOfSDK reports whether a type is a pointer to one of the SDK's, which may be read.
func isOfSDK(t reflect.Type, name string) bool {
	return readsInPlace && t != nil && t.Kind() == reflect.Pointer && t.Elem().Name() == name && t.Elem().PkgPath() == reflect.TypeFor[sdktrace.Event]().PkgPath()
}

// layoutOf returns the places of the fields of a snapshot, and whether all are there.
func layoutOf(t reflect.Type) (*layout, bool) {
	at := &layout{of: t}
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

// fieldsOf are the fields that a struct is to have, by name.
type fieldsOf map[string]struct {
	of     reflect.Type
	offset *uintptr
}

// find sets the offsets in what t points to, and reports whether all fields are there.
func (f fieldsOf) find(t reflect.Type) bool {
	if t.Elem().Kind() != reflect.Struct {
		return false
	}
	for name, want := range f {
		field, ok := t.Elem().FieldByName(name)
		if !ok || field.Type != want.of || len(field.Index) != 1 {
			return false
		}
		*want.offset = field.Offset
	}
	return true
}

// agrees reports whether the fields are what the methods say.
func (s sdkSpan) agrees(of sdktrace.ReadOnlySpan) bool {
	return s.name() == of.Name() && s.context().Equal(of.SpanContext()) && s.parent().Equal(of.Parent()) &&
		s.start().Equal(of.StartTime()) && s.end().Equal(of.EndTime()) &&
		reflect.DeepEqual(s.attributes(), of.Attributes()) && reflect.DeepEqual(s.events(), of.Events()) && reflect.DeepEqual(s.links(), of.Links()) &&
		*s.status() == of.Status() && s.droppedAttributes() == of.DroppedAttributes() &&
		s.resource() == of.Resource() && s.scope().Name == of.InstrumentationScope().Name
}

func field[T any](p unsafe.Pointer, offset uintptr) *T { return (*T)(unsafe.Add(p, offset)) }

func (s sdkSpan) name() string                { return *field[string](s.p, s.at.name) }
func (s sdkSpan) context() *trace.SpanContext { return field[trace.SpanContext](s.p, s.at.context) }
func (s sdkSpan) parent() *trace.SpanContext  { return field[trace.SpanContext](s.p, s.at.parent) }
func (s sdkSpan) start() *time.Time           { return field[time.Time](s.p, s.at.start) }
func (s sdkSpan) end() *time.Time             { return field[time.Time](s.p, s.at.end) }
func (s sdkSpan) attributes() []attribute.KeyValue {
	return *field[[]attribute.KeyValue](s.p, s.at.attributes)
}

func (s sdkSpan) events() []sdktrace.Event     { return *field[[]sdktrace.Event](s.p, s.at.events) }
func (s sdkSpan) links() []sdktrace.Link       { return *field[[]sdktrace.Link](s.p, s.at.links) }
func (s sdkSpan) status() *sdktrace.Status     { return field[sdktrace.Status](s.p, s.at.status) }
func (s sdkSpan) droppedAttributes() int       { return *field[int](s.p, s.at.droppedAttributes) }
func (s sdkSpan) resource() *resource.Resource { return *field[*resource.Resource](s.p, s.at.resource) }

func (s sdkSpan) scope() *instrumentation.Scope { return field[instrumentation.Scope](s.p, s.at.scope) }
