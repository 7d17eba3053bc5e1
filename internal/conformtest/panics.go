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
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

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
func (c *Case) sameEvents(s *sdk, f func(), options ...trace.SpanEndOption) (event sdktrace.Event) {
	got := s.endDeferred(s.tracer, "wrapped", f, options...)
	c.bare("after the panic")
	want := s.endDeferred(s.bare.Tracer("conformance"), "bare", f, options...)
	if fmt.Sprintf("%T %v", got, got) != fmt.Sprintf("%T %v", want, want) {
		c.errorf("panics with %T %v, want %T %v", got, got, want, want)
	}
	gotEvents, wantEvents := s.ended("wrapped").Events(), s.ended("bare").Events()
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
	s := c.newSDK()
	event := c.sameEvents(s, func() { panicHere() }, trace.WithStackTrace(true))
	if message, _ := eventAttribute(event, "exception.message"); message != "oops" {
		c.errorf("exception.message %q", message)
	}
	if stack, _ := eventAttribute(event, "exception.stacktrace"); !strings.Contains(stack, "panicHere") {
		c.errorf("the stack trace does not show where the panic began:\n%s", stack)
	}
	r := s.endDeferred(s.tracer, "again", func() { panic(errOops) })
	if err, ok := r.(error); !ok || !errors.Is(err, errOops) {
		c.errorf("the panic's value is %v, not the same error", r)
	}
}

func panicHere() { panic(errOops) }

func panicNil(c *Case) {
	s := c.newSDK()
	c.sameEvents(s, func() { panic(nil) })                       //nolint:govet // on purpose
	r := s.endDeferred(s.tracer, "again", func() { panic(nil) }) //nolint:govet // on purpose
	if _, ok := r.(*runtime.PanicNilError); !ok {
		c.errorf("panic(nil) arrives as %T", r)
	}
}

func goexit(c *Case) {
	s := c.newSDK()
	elsewhere(func() {
		_, span := s.tracer.Start(context.Background(), "root")
		defer span.End()
		runtime.Goexit()
	})
	root := s.ended("root")
	if root.Name() != "root" || len(root.Events()) != 0 {
		c.errorf("span %q with %d events, want root with none", root.Name(), len(root.Events()))
	}
}
