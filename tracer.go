// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	rtrace "runtime/trace"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/spanlabels"
)

// tracer starts spans by the inner tracer and labels the goroutine for them.
type tracer struct {
	embedded.Tracer
	inner trace.Tracer
	by    *labelling
}

// Start starts a span. The returned span and the span in the returned context
// are the same.
func (t *tracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if ctx == nil {
		ctx = context.Background()
	}
	if crashesTrace(name) {
		// Samplers and processors see the beginning, the span gets all of the name.
		ctx, span := t.Start(ctx, goruntime.CutTaskName(name), opts...)
		span.SetName(name)
		return ctx, span
	}
	parent, _ := ctx.Value(otelSpanKey).(trace.Span)
	switch p := parent.(type) {
	case *sdkSpan:
		return t.startChild(ctx, p, name, opts)
	case *apiSpan:
		innerCtx, span := t.inner.Start(trace.ContextWithSpan(ctx, p.Span), name, opts...)
		sc := span.SpanContext()
		return t.wrap(ctx, innerCtx, span, &sc, &p.state, name)
	}

	innerCtx, span := t.inner.Start(ctx, name, opts...)
	sc := span.SpanContext()
	if !t.by.config.unsampledNames && !sc.IsSampled() && !span.IsRecording() {
		spanlabels.Count(sc.TraceID(), false)
		return innerCtx, span
	}
	return t.wrap(ctx, innerCtx, span, &sc, ancestor(ctx, parent), name)
}

// startChild starts a child of a span of ours. The child is allocated first
// because it has the context for the inner tracer.
func (t *tracer) startChild(
	ctx context.Context, parent *sdkSpan, name string, opts []trace.SpanStartOption,
) (context.Context, trace.Span) {
	s := &childSpan{inner: spanContext{Context: ctx, span: parent.ReadWriteSpan}}
	innerCtx, span := t.inner.Start(&s.inner, name, opts...)
	sc := span.SpanContext()
	rw, ok := span.(sdktrace.ReadWriteSpan)
	if !ok {
		return t.wrap(ctx, innerCtx, span, &sc, &parent.state, name)
	}
	s.ReadWriteSpan = rw
	t.by.begin(ctx, innerCtx, &s.sdkSpan, &sc, &s.state, &parent.state, name)
	return &s.state.ctx, &s.sdkSpan
}

// wrap returns our span for one of the inner tracer, or that one if it gets no
// labels. parent is nil if the parent is not ours.
func (t *tracer) wrap(
	ctx, innerCtx context.Context, span trace.Span, sc *trace.SpanContext, parent *spanState, name string,
) (context.Context, trace.Span) {
	if rw, ok := span.(sdktrace.ReadWriteSpan); ok {
		s := &sdkSpan{ReadWriteSpan: rw}
		t.by.begin(ctx, innerCtx, s, sc, &s.state, parent, name)
		return &s.state.ctx, s
	}
	if !sc.IsSampled() && !span.IsRecording() {
		localRoot := parent == nil || parent.traceID != sc.TraceID()
		if !t.by.config.unsampledNames || !localRoot || !sc.IsValid() {
			spanlabels.Count(sc.TraceID(), false)
			return innerCtx, span
		}
	}
	s := &apiSpan{Span: span, start: time.Now()}
	t.by.begin(ctx, innerCtx, s, sc, &s.state, parent, name)
	return &s.state.ctx, s
}

// ancestor returns the state of our nearest span in ctx. parent is the current
// span, of another make, which wraps ours.
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

// crashesTrace reports whether some runtimes would crash on a span with this name.
func crashesTrace(name string) bool {
	return len(name) > goruntime.MaxTaskName && rtrace.IsEnabled()
}
