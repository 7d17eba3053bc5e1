// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// sdkSpan is a recording span of the SDK, with all that it can do.
type sdkSpan struct {
	sdktrace.ReadWriteSpan
	state spanState
}

var _ sdktrace.ReadWriteSpan = (*sdkSpan)(nil)

// rootSpan is a local root with the memory of its attribute, which would be an
// allocation of its own.
type rootSpan struct {
	sdkSpan
	attribute [1]attribute.KeyValue
}

// childSpan is a child of an sdkSpan, with the context that its inner tracer
// is given.
type childSpan struct {
	sdkSpan
	inner innerContext
}

// profiledChild is a childSpan that gets the same attribute as a rootSpan.
type profiledChild struct {
	childSpan
	attribute [1]attribute.KeyValue
}

// End restores the goroutine's labels and ends the span. Only where the SDK's
// End would look for a panic does it do so.
func (s *sdkSpan) End(options ...trace.SpanEndOption) {
	if s.state.ended.Load() {
		s.ReadWriteSpan.End(options...)
		return
	}
	// recover works only here, in the function that is deferred.
	if r := recover(); r != nil {
		defer panic(r)
		s.state.finish(s.ReadWriteSpan)
		endInPanic(s.ReadWriteSpan, r, options)
		return
	}
	s.state.finish(s.ReadWriteSpan)
	s.ReadWriteSpan.End(options...)
}

// SetName renames the span, and its label with it.
func (s *sdkSpan) SetName(name string) {
	s.ReadWriteSpan.SetName(name)
	s.state.setName(name)
	// Another goroutine may have renamed both in the other order.
	for current := s.Name(); current != name; current = s.Name() {
		name = current
		s.state.setName(name)
	}
}

// TracerProvider returns the wrapping provider, so that spans which are made
// from this span are labelled too.
func (s *sdkSpan) TracerProvider() trace.TracerProvider { return s.state.by.provider }

// endInPanic ends span as a deferred End does in a panic with r: the SDK's End
// calls recover to make an event of the panic, which works only in a function
// that is itself deferred. The panic that it raises again ends here; the caller
// raises its own.
func endInPanic(span trace.Span, r any, options []trace.SpanEndOption) {
	defer func() { _ = recover() }()
	defer span.End(options...)
	panic(r)
}
