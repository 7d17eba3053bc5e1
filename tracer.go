// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
)

// tracer starts spans by the inner tracer and labels the goroutine for them.
type tracer struct {
	embedded.Tracer
	inner trace.Tracer
	tp    *TracerProvider
}

var _ trace.Tracer = (*tracer)(nil)

// Start starts a span. The returned span and the span in the returned context
// are the same.
func (t *tracer) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if ctx == nil {
		ctx = context.Background()
	}
	parent := trace.SpanFromContext(ctx)
	switch p := parent.(type) {
	case *sdkSpan:
		return t.startChild(ctx, p, name, options)
	case *apiSpan:
		innerCtx, span := t.inner.Start(trace.ContextWithSpan(ctx, p.Span), name, options...)
		return t.wrap(ctx, innerCtx, span, &p.state, name)
	}

	innerCtx, span := t.inner.Start(ctx, name, options...)
	if sc := span.SpanContext(); !sc.IsSampled() && !span.IsRecording() && !t.tp.config.unsampledNames {
		return innerCtx, span
	}
	return t.wrap(ctx, innerCtx, span, t.ancestor(ctx, parent), name)
}

// startChild starts a child of a span of ours. The child is allocated first,
// for the context that the inner tracer is given is a part of it.
func (t *tracer) startChild(ctx context.Context, parent *sdkSpan, name string, options []trace.SpanStartOption) (context.Context, trace.Span) {
	s := &sdkSpan{}
	s.state.inner = innerContext{ctx, parent.ReadWriteSpan}
	innerCtx, span := t.inner.Start(&s.state.inner, name, options...)
	rw, ok := span.(sdktrace.ReadWriteSpan)
	if !ok {
		return t.wrap(ctx, innerCtx, span, &parent.state, name)
	}
	s.ReadWriteSpan = rw
	t.begin(ctx, innerCtx, s, &s.state, &parent.state, name)
	return &s.state.ctx, s
}

// wrap makes the span of ours for one that the inner tracer started, where it
// needs one. parent is nil where the parent is none of ours.
func (t *tracer) wrap(ctx, innerCtx context.Context, span trace.Span, parent *spanState, name string) (context.Context, trace.Span) {
	if rw, ok := span.(sdktrace.ReadWriteSpan); ok {
		s := &sdkSpan{ReadWriteSpan: rw}
		t.begin(ctx, innerCtx, s, &s.state, parent, name)
		return &s.state.ctx, s
	}
	sc := span.SpanContext()
	if !sc.IsSampled() && !span.IsRecording() {
		localRoot := parent == nil || parent.traceID != sc.TraceID()
		if !t.tp.config.unsampledNames || !localRoot || !sc.IsValid() {
			return innerCtx, span
		}
	}
	s := &apiSpan{Span: span}
	t.begin(ctx, innerCtx, s, &s.state, parent, name)
	return &s.state.ctx, s
}

// ancestor returns the state of the nearest span of ours that ctx knows of,
// where its current span, parent, is of another make: one that wraps ours.
func (t *tracer) ancestor(ctx context.Context, parent trace.Span) *spanState {
	sc := parent.SpanContext()
	if !sc.IsValid() || sc.IsRemote() {
		return nil
	}
	if s, ok := ctx.Value(stateKey{}).(*spanState); ok && s.traceID == sc.TraceID() {
		return s
	}
	return nil
}

// begin fills in the state of a span that has started and labels the goroutine.
func (t *tracer) begin(ctx, innerCtx context.Context, span trace.Span, s, parent *spanState, name string) {
	sc := span.SpanContext()
	s.tp = t.tp
	s.ctx = spanContext{innerCtx, span, s}
	s.traceID = sc.TraceID()

	c := &t.tp.config
	s.sampled = sc.IsSampled() || c.recordOnly && span.IsRecording()
	if parent != nil && parent.root != nil && parent.traceID == s.traceID && (parent.root.sampled || !s.sampled) {
		s.root = parent.root
		if s.sampled {
			t.labelChild(ctx, span, s, sc.SpanID(), name)
		}
		return
	}
	if !s.sampled && (!c.unsampledNames || c.nameScope == ScopeNone) {
		return
	}
	s.root, s.labelled = s, true
	s.labelID = sc.SpanID()
	s.profiled = s.sampled && c.idScope != ScopeNone
	if c.nameScope == ScopeNone {
		name = ""
	} else {
		name = t.tp.names.label(name)
	}
	t.setProfileID(span, s, t.tp.labeler.start(ctx, s, name))
}

// labelChild labels the goroutine for a span with a local parent.
func (t *tracer) labelChild(ctx context.Context, span trace.Span, s *spanState, id trace.SpanID, name string) {
	c := &t.tp.config
	s.labelled = true
	s.labelID = s.root.labelID
	if c.idScope != ScopeAllSpans && c.nameScope != ScopeAllSpans {
		t.tp.labeler.inherit(ctx, s)
		return
	}
	if c.idScope == ScopeAllSpans {
		s.labelID = id
		s.profiled = true
	}
	switch c.nameScope {
	case ScopeAllSpans:
		name = t.tp.names.label(name)
	case ScopeRootSpan:
		name = s.root.tp.labeler.name(s.root)
	default:
		name = ""
	}
	t.setProfileID(span, s, t.tp.labeler.start(ctx, s, name))
}

func (t *tracer) setProfileID(span trace.Span, s *spanState, id string) {
	if s.profiled && !t.tp.config.noProfileID {
		span.SetAttributes(attribute.String(AttributeProfileID, id))
	}
}
