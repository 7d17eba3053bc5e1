// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package conformtest

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func readableSpans(c *Case) {
	s := c.newSDK()
	ctx, root := s.tracer.Start(context.Background(), "root")
	_, child := s.tracer.Start(ctx, "child")
	for _, span := range []trace.Span{root, child, trace.SpanFromContext(ctx)} {
		if r, ok := span.(sdktrace.ReadOnlySpan); !ok {
			c.errorf("%T is no ReadOnlySpan", span)
		} else if span == child && r.Name() != "child" {
			c.errorf("Name() is %q", r.Name())
		}
		if _, ok := span.(sdktrace.ReadWriteSpan); !ok {
			c.errorf("%T is no ReadWriteSpan", span)
		}
	}
	child.End()
	root.End()
}

func untouched(c *Case) {
	s := c.newSDK()
	link := trace.Link{SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{7}, SpanID: trace.SpanID{8}})}
	use := func(t trace.Tracer, name string) sdktrace.ReadOnlySpan {
		_, span := t.Start(context.Background(), name, trace.WithLinks(link), trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.Int("a", 1)))
		span.AddLink(link)
		span.AddEvent("event", trace.WithAttributes(attribute.Int("b", 2)))
		span.SetAttributes(attribute.Int("c", 3))
		span.RecordError(errOops)
		span.SetStatus(codes.Error, "failed")
		span.End()
		return s.ended(name)
	}
	got, want := use(s.tracer, "wrapped"), use(s.bare.Tracer("conformance"), "bare")
	describe := func(r sdktrace.ReadOnlySpan) string {
		var kept []attribute.KeyValue
		for _, a := range r.Attributes() {
			if a.Key != "pyroscope.profile.id" {
				kept = append(kept, a)
			}
		}
		var events []string
		for _, e := range r.Events() {
			events = append(events, fmt.Sprint(e.Name, e.Attributes))
		}
		return fmt.Sprint(kept, r.Links(), r.SpanKind(), r.Status(), events, r.InstrumentationScope(), r.Resource(),
			r.StartTime().Before(r.EndTime()), r.DroppedAttributes(), r.DroppedEvents(), r.DroppedLinks(), r.SpanContext().TraceFlags())
	}
	if describe(got) != describe(want) {
		c.errorf("got  %s\nwant %s", describe(got), describe(want))
	}
}

func nilContext(c *Case) {
	defer func() {
		if r := recover(); r != nil {
			c.errorf("panic: %v", r)
		}
	}()
	s := c.newSDK()
	ctx, root := s.tracer.Start(nil, "root") //nolint:staticcheck // the SDK takes it
	c.carries("in root", root, "root")
	_, child := s.tracer.Start(ctx, "child")
	child.End()
	root.End()
	c.bare("after root")
}

// parentSpy notes what a processor finds in the parent's context.
type parentSpy struct {
	sdktrace.SpanProcessor
	parents []trace.Span
}

func (p *parentSpy) OnStart(parent context.Context, s sdktrace.ReadWriteSpan) {
	p.parents = append(p.parents, trace.SpanFromContext(parent))
	p.SpanProcessor.OnStart(parent, s)
}

func innerParent(c *Case) {
	s := c.newSDK()
	spy := &parentSpy{SpanProcessor: s.recorder}
	s.bare.RegisterSpanProcessor(spy)
	bareCtx, bare := s.bare.Tracer("conformance").Start(context.Background(), "bare")
	_, bareChild := s.bare.Tracer("conformance").Start(bareCtx, "bare child")
	ctx, root := s.tracer.Start(context.Background(), "root")
	_, child := s.tracer.Start(ctx, "child")
	if got, want := fmt.Sprintf("%T", spy.parents[3]), fmt.Sprintf("%T", spy.parents[1]); got != want {
		c.errorf("the parent is a %s, want a %s", got, want)
	}
	if spy.parents[3].SpanContext().SpanID() != root.SpanContext().SpanID() {
		c.errorf("the parent is not the root")
	}
	for _, span := range []trace.Span{child, root, bareChild, bare} {
		span.End()
	}
}

func providerMethods(c *Case) {
	s := c.newSDK()
	ctx := context.Background()
	if p, ok := s.wrapped.(interface{ ForceFlush(context.Context) error }); !ok || p.ForceFlush(ctx) != nil {
		c.errorf("ForceFlush: %t", ok)
	}
	if p, ok := s.wrapped.(interface {
		RegisterSpanProcessor(sdktrace.SpanProcessor)
		UnregisterSpanProcessor(sdktrace.SpanProcessor)
	}); ok {
		spy := &parentSpy{SpanProcessor: s.recorder}
		p.RegisterSpanProcessor(spy)
		_, first := s.tracer.Start(ctx, "first")
		p.UnregisterSpanProcessor(spy)
		_, second := s.tracer.Start(ctx, "second")
		second.End()
		first.End()
		if len(spy.parents) != 1 {
			c.errorf("the processor saw %d starts, want 1", len(spy.parents))
		}
	} else {
		c.errorf("RegisterSpanProcessor: false")
	}
	if p, ok := s.wrapped.(interface{ Unwrap() trace.TracerProvider }); !ok || p.Unwrap() != trace.TracerProvider(s.bare) {
		c.errorf("Unwrap: %t", ok)
	}
	if p, ok := s.wrapped.(interface{ Shutdown(context.Context) error }); !ok || p.Shutdown(ctx) != nil {
		c.errorf("Shutdown: %t", ok)
	}
}
