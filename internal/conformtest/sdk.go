// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package conformtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func readableSpans(c *Case) {
	ctx, root := c.tracer.Start(context.Background(), "root")
	_, child := c.tracer.Start(ctx, "child")
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
		return c.ended(name)
	}
	got, want := use(c.tracer, "wrapped"), use(c.inner.Tracer("conformance"), "bare")
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
	ctx, root := c.tracer.Start(nil, "root") //nolint:staticcheck // the SDK takes it
	c.carries("in root", root, "root")
	_, child := c.tracer.Start(ctx, "child")
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
	spy := &parentSpy{SpanProcessor: c.recorder}
	c.inner.RegisterSpanProcessor(spy)
	bareCtx, bare := c.inner.Tracer("conformance").Start(context.Background(), "bare")
	_, bareChild := c.inner.Tracer("conformance").Start(bareCtx, "bare child")
	ctx, root := c.tracer.Start(context.Background(), "root")
	_, child := c.tracer.Start(ctx, "child")
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
	ctx := context.Background()
	if p, ok := c.wrapped.(interface{ ForceFlush(context.Context) error }); !ok || p.ForceFlush(ctx) != nil {
		c.errorf("ForceFlush: %t", ok)
	}
	if p, ok := c.wrapped.(interface {
		RegisterSpanProcessor(sdktrace.SpanProcessor)
		UnregisterSpanProcessor(sdktrace.SpanProcessor)
	}); ok {
		spy := &parentSpy{SpanProcessor: c.recorder}
		p.RegisterSpanProcessor(spy)
		_, first := c.tracer.Start(ctx, "first")
		p.UnregisterSpanProcessor(spy)
		_, second := c.tracer.Start(ctx, "second")
		second.End()
		first.End()
		if len(spy.parents) != 1 {
			c.errorf("the processor saw %d starts, want 1", len(spy.parents))
		}
	} else {
		c.errorf("RegisterSpanProcessor: false")
	}
	if p, ok := c.wrapped.(interface{ Unwrap() trace.TracerProvider }); !ok || p.Unwrap() != trace.TracerProvider(c.inner) {
		c.errorf("Unwrap: %t", ok)
	}
	if p, ok := c.wrapped.(interface{ Shutdown(context.Context) error }); !ok || p.Shutdown(ctx) != nil {
		c.errorf("Shutdown: %t", ok)
	}
}

// endDeferred starts a span, ends it by defer, and runs f within. It returns
// what f panicked with.
func (s *sdk) endDeferred(tracer trace.Tracer, name string, f func(), options ...trace.SpanEndOption) (r any) {
	defer func() { r = recover() }()
	_, span := tracer.Start(context.Background(), name)
	defer span.End(options...)
	f()
	return nil
}

// sameEvents checks that a span of the wrapper has the events that the SDK
// makes on its own.
func (c *Case) sameEvents(f func(), options ...trace.SpanEndOption) (event sdktrace.Event) {
	got := c.endDeferred(c.tracer, "wrapped", f, options...)
	c.bare("after the panic")
	want := c.endDeferred(c.inner.Tracer("conformance"), "bare", f, options...)
	if fmt.Sprintf("%T %v", got, got) != fmt.Sprintf("%T %v", want, want) {
		c.errorf("panics with %T %v, want %T %v", got, got, want, want)
	}
	gotEvents, wantEvents := c.ended("wrapped").Events(), c.ended("bare").Events()
	if len(gotEvents) != len(wantEvents) {
		c.errorf("%d events, want %d", len(gotEvents), len(wantEvents))
		return event
	}
	for i, want := range wantEvents {
		event = gotEvents[i]
		for _, a := range want.Attributes {
			value, ok := eventAttribute(event, a.Key)
			if !ok || a.Key != "exception.stacktrace" && value != a.Value.AsString() {
				c.errorf("event %s: %s is %q, want %q", event.Name, a.Key, value, a.Value.AsString())
			}
		}
	}
	return event
}

func eventAttribute(e sdktrace.Event, key attribute.Key) (string, bool) {
	for _, a := range e.Attributes {
		if a.Key == key {
			return a.Value.AsString(), true
		}
	}
	return "", false
}

var errOops = errors.New("oops")

func panicEvent(c *Case) {
	event := c.sameEvents(func() { panicHere() }, trace.WithStackTrace(true))
	if message, _ := eventAttribute(event, "exception.message"); message != "oops" {
		c.errorf("exception.message %q", message)
	}
	if stack, _ := eventAttribute(event, "exception.stacktrace"); !strings.Contains(stack, "panicHere") {
		c.errorf("the stack trace does not show where the panic began:\n%s", stack)
	}
	r := c.endDeferred(c.tracer, "again", func() { panic(errOops) })
	if err, ok := r.(error); !ok || !errors.Is(err, errOops) {
		c.errorf("the panic's value is %v, not the same error", r)
	}
}

func panicHere() { panic(errOops) }

func panicNil(c *Case) {
	c.sameEvents(func() { panic(nil) })                          //nolint:govet // on purpose
	r := c.endDeferred(c.tracer, "again", func() { panic(nil) }) //nolint:govet // on purpose
	if _, ok := r.(*runtime.PanicNilError); !ok {
		c.errorf("panic(nil) arrives as %T", r)
	}
}

func goexit(c *Case) {
	elsewhere(func() {
		_, span := c.tracer.Start(context.Background(), "root")
		defer span.End()
		runtime.Goexit()
	})
	root := c.ended("root")
	if root.Name() != "root" || len(root.Events()) != 0 {
		c.errorf("span %q with %d events, want root with none", root.Name(), len(root.Events()))
	}
}
