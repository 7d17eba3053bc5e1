// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
)

// tracer starts spans by the inner tracer and labels the goroutine for them.
type tracer struct {
	embedded.Tracer
	inner trace.Tracer
	by    *labelling
}

var _ trace.Tracer = (*tracer)(nil)

// Start starts a span. The returned span and the span in the returned context
// are the same.
func (t *tracer) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if ctx == nil {
		ctx = context.Background()
	}
	if crashesTrace(name) {
		return t.startLongName(ctx, name, options)
	}
	parent, _ := ctx.Value(otelSpanKey).(trace.Span)
	switch p := parent.(type) {
	case *rootSpan:
		return t.startChild(ctx, &p.sdkSpan, name, options)
	case *profiledChild:
		return t.startChild(ctx, &p.sdkSpan, name, options)
	case *sdkSpan:
		return t.startChild(ctx, p, name, options)
	case *apiSpan:
		innerCtx, span := t.inner.Start(trace.ContextWithSpan(ctx, p.Span), name, options...)
		sc := span.SpanContext()
		return t.wrap(ctx, innerCtx, span, &sc, &p.state, name)
	}

	innerCtx, span := t.inner.Start(ctx, name, options...)
	sc := span.SpanContext()
	if !t.by.config.unsampledNames && !sc.IsSampled() && !span.IsRecording() {
		t.by.unlabelled(&sc)
		return innerCtx, span
	}
	return t.wrap(ctx, innerCtx, span, &sc, ancestor(ctx, parent), name)
}

// startChild starts a child of a span of ours. The child is allocated first,
// for the context that the inner tracer is given is a part of it.
func (t *tracer) startChild(ctx context.Context, parent *sdkSpan, name string, options []trace.SpanStartOption) (context.Context, trace.Span) {
	if t.by.idAlone && t.by.config.idScope == ScopeAllSpans {
		return t.startProfiledChild(ctx, parent, name, options)
	}
	s := &childSpan{inner: innerContext{ctx, parent.ReadWriteSpan}}
	innerCtx, span := t.inner.Start(&s.inner, name, options...)
	sc := span.SpanContext()
	rw, ok := span.(sdktrace.ReadWriteSpan)
	if !ok {
		return t.wrap(ctx, innerCtx, span, &sc, &parent.state, name)
	}
	s.ReadWriteSpan = rw
	t.by.begin(ctx, innerCtx, &s.sdkSpan, &sc, &s.state, &parent.state, name)
	return &s.state.ctx, &s.sdkSpan
}

// startProfiledChild is startChild for a child that gets AttributeProfileID alone.
func (t *tracer) startProfiledChild(ctx context.Context, parent *sdkSpan, name string, options []trace.SpanStartOption) (context.Context, trace.Span) {
	s := &profiledChild{childSpan: childSpan{inner: innerContext{ctx, parent.ReadWriteSpan}}}
	innerCtx, span := t.inner.Start(&s.inner, name, options...)
	sc := span.SpanContext()
	rw, ok := span.(sdktrace.ReadWriteSpan)
	if !ok {
		return t.wrap(ctx, innerCtx, span, &sc, &parent.state, name)
	}
	s.ReadWriteSpan = rw
	t.by.begin(ctx, innerCtx, s, &sc, &s.state, &parent.state, name)
	return &s.state.ctx, s
}

// wrap makes the span of ours for one that the inner tracer started, where it
// needs one. parent is nil where the parent is none of ours.
func (t *tracer) wrap(ctx, innerCtx context.Context, span trace.Span, sc *trace.SpanContext, parent *spanState, name string) (context.Context, trace.Span) {
	if rw, ok := span.(sdktrace.ReadWriteSpan); ok {
		if parent == nil && t.by.idAlone {
			s := &rootSpan{sdkSpan: sdkSpan{ReadWriteSpan: rw}}
			t.by.begin(ctx, innerCtx, s, sc, &s.state, parent, name)
			return &s.state.ctx, s
		}
		s := &sdkSpan{ReadWriteSpan: rw}
		t.by.begin(ctx, innerCtx, s, sc, &s.state, parent, name)
		return &s.state.ctx, s
	}
	if !sc.IsSampled() && !span.IsRecording() {
		localRoot := parent == nil || parent.traceID != sc.TraceID()
		if !t.by.config.unsampledNames || !localRoot || !sc.IsValid() {
			t.by.unlabelled(sc)
			return innerCtx, span
		}
	}
	s := &apiSpan{Span: span}
	if t.by.links != nil {
		s.start = time.Now()
	}
	t.by.begin(ctx, innerCtx, s, sc, &s.state, parent, name)
	return &s.state.ctx, s
}

// ancestor returns the state of the nearest span of ours that ctx knows of,
// where its current span, parent, is of another make: one that wraps ours.
func ancestor(ctx context.Context, parent trace.Span) *spanState {
	if parent == nil {
		return nil
	}
	sc := parent.SpanContext()
	if !sc.IsValid() || sc.IsRemote() {
		return nil
	}
	if s, ok := ctx.Value(stateKey{}).(*spanState); ok && s.traceID == sc.TraceID() {
		return s
	}
	return nil
}
