// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/contextkey"
	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/spanlabels"
)

// sdkSpan is a recording span of the SDK, with all its methods.
type sdkSpan struct {
	sdktrace.ReadWriteSpan
	state     spanState
	attribute [1]attribute.KeyValue // in place to save an allocation
}

// childSpan is an sdkSpan together with the context for the inner tracer.
type childSpan struct {
	sdkSpan
	inner spanContext
}

var _ sdktrace.ReadWriteSpan = (*sdkSpan)(nil)

// End restores the goroutine's labels and ends the span. It recovers a panic
// only where the SDK's End would.
func (s *sdkSpan) End(options ...trace.SpanEndOption) {
	var r any
	if !s.state.ended.Load() {
		r = recover() // works only here, in the deferred function
	}
	s.state.end(s.ReadWriteSpan, r, options)
}

// SetName renames the span and its label.
func (s *sdkSpan) SetName(name string) {
	s.ReadWriteSpan.SetName(name)
	s.state.setName(name)
	// Another goroutine may have renamed both in the other order.
	for current := s.Name(); current != name; current = s.Name() {
		name = current
		s.state.setName(name)
	}
}

// TracerProvider returns the wrapping provider: its spans are labelled too.
func (s *sdkSpan) TracerProvider() trace.TracerProvider { return s.state.by.provider }

// apiSpan is any other labelled span: of another provider than the SDK's, or
// not recorded.
type apiSpan struct {
	trace.Span
	state spanState
	start time.Time
}

// End restores the goroutine's labels and ends the span.
func (s *apiSpan) End(options ...trace.SpanEndOption) {
	var r any
	if !s.state.ended.Load() && s.IsRecording() {
		r = recover() // works only here, in the deferred function
	}
	s.state.end(s.Span, r, options)
}

// SetName renames the span and its label.
func (s *apiSpan) SetName(name string) {
	s.Span.SetName(name)
	s.state.setName(name)
}

// TracerProvider returns the wrapping provider: its spans are labelled too.
func (s *apiSpan) TracerProvider() trace.TracerProvider { return s.state.by.provider }

// end restores the goroutine's labels and ends span, in a panic with r unless nil.
func (s *spanState) end(span trace.Span, r any, options []trace.SpanEndOption) {
	if r != nil {
		defer panic(r)
		s.finish(span)
		endInPanic(span, r, options)
		return
	}
	s.finish(span)
	span.End(options...)
}

// endInPanic ends span as a deferred End does in a panic with r. The SDK's End
// calls recover to make an event of the panic, and recover works only in a deferred
// function. The panic that it raises again stops here; the caller
// raises its own.
func endInPanic(span trace.Span, r any, options []trace.SpanEndOption) {
	defer func() { _ = recover() }()
	defer span.End(options...)
	panic(r)
}

// spanState is spanprof's part of a span, within the span that Start returns. It
// holds the context that Start returns.
type spanState struct {
	by *labelling
	// root is the labelled local root: the span itself for one, nil without one.
	root *spanState
	// block is the span's labels, nil if it did not change the goroutine's.
	block *spanlabels.Block

	ctx spanContext // for the caller

	traceID trace.TraceID
	labelID trace.SpanID // of LabelProfileID and LabelSpanID
	sampled bool
	// profiled reports whether LabelProfileID is the span's own id, so that there
	// is a profile to link to.
	profiled    bool
	byProcessor bool        // labelled by a SpanProcessor
	ended       atomic.Bool // End was called
}

// startTime returns the span's start.
func (s *spanState) startTime() time.Time {
	switch span := s.ctx.span.(type) {
	case *apiSpan:
		return span.start
	case sdktrace.ReadOnlySpan:
		return span.StartTime()
	}
	return time.Time{}
}

// setName changes the label with the span's name, if the span has its own.
func (s *spanState) setName(name string) {
	if s.block == nil || s.ended.Load() {
		return
	}
	scope := s.by.config.nameScope
	if scope == ScopeNone || scope == ScopeRootSpan && s.root != s {
		return
	}
	s.block.Rename(s.by.nameLabel(name))
}

// finish takes the labels off the goroutine and sets the attributes, once. span
// is nil if it has already ended.
func (s *spanState) finish(span trace.Span) {
	if s.ended.Swap(true) {
		return
	}
	// Restore labels first: this cannot panic.
	if s.block != nil {
		s.block.End()
	}
	if s.profiled && span != nil {
		s.by.setAttributes(span, s)
	}
}

// abandon releases the labels of a span that may never end.
func (s *spanState) abandon() {
	if s.block != nil {
		s.block.Abandon()
	}
}

// stateKey finds the innermost spanState of a context.
type stateKey struct{}

// otelSpanKey is the key under which OpenTelemetry keeps the span in a context. Like
// goruntime.LabelsKey it is unexported. With both, one context node has the span and its labels.
var otelSpanKey = contextkey.Asked(func(ctx context.Context) { trace.SpanFromContext(ctx) })

// spanContext is a context with another span. Start returns one with our span,
// its state and its labels. The inner tracer gets one without state, with the
// inner provider's own parent span: the SDK then counts the child, and samplers
// and processors see the span they expect.
type spanContext struct {
	context.Context
	span  trace.Span
	state *spanState // nil for the inner tracer
}

func (c *spanContext) Value(key any) any {
	if key == otelSpanKey {
		return c.span
	}
	if s := c.state; s != nil {
		switch key {
		case goruntime.LabelsKey:
			if s.block != nil {
				return s.block.ContextValue()
			}
		case any(spanlabels.Key{}):
			if s.block != nil {
				return s.block
			}
		case any(stateKey{}):
			return s
		}
	}
	return c.Context.Value(key)
}
