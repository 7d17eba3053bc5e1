// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spanprof/spanprof/internal/report"
)

// TracerProvider wraps a trace.TracerProvider: its tracers start the wrapped
// provider's spans and label the goroutine for them. It is safe for concurrent
// use.
type TracerProvider struct {
	embedded.TracerProvider
	inner     trace.TracerProvider
	labelling *labelling
}

var _ trace.TracerProvider = (*TracerProvider)(nil)

// NewTracerProvider returns a provider that wraps tp, usually a
// *sdktrace.TracerProvider. Wrap the SDK's provider itself and set the result by
// otel.SetTracerProvider. What otel.GetTracerProvider returns before a provider
// has been set cannot be wrapped: set as the provider, the wrapper and it would
// wait for each other.
//
// Spans of tracers that were got from the wrapped provider itself, before or after, have no
// labels. [NewSpanProcessor], registered with the wrapped provider, labels those too; give it
// the same options.
//
// A *TracerProvider is not wrapped twice: its wrapped provider is wrapped anew,
// with opts alone.
//
// Options that cannot work are reported through otel.Handle and left out.
func NewTracerProvider(tp trace.TracerProvider, opts ...Option) *TracerProvider {
	if wrapped, ok := tp.(*TracerProvider); ok && wrapped != nil {
		tp = wrapped.inner
	}
	switch {
	case report.IsNil(tp):
		otel.Handle(errors.New("spanprof: NewTracerProvider: the provider to wrap is nil; no spans will be made"))
		tp = noop.NewTracerProvider()
	case isPlaceholder(tp):
		otel.Handle(errors.New("spanprof: NewTracerProvider: no tracer provider has been set yet, " +
			"so otel.GetTracerProvider() has none to wrap; wrap the SDK's; no spans will be made"))
		tp = noop.NewTracerProvider()
	}
	wrapper := &TracerProvider{inner: tp, labelling: newLabelling(newConfig(opts))}
	wrapper.labelling.provider = wrapper
	return wrapper
}

// isPlaceholder reports whether tp stands for a provider that is not set yet.
// OpenTelemetry has no other mark for it than the name of the type.
func isPlaceholder(tp trace.TracerProvider) bool {
	t := reflect.TypeOf(tp)
	return t.Kind() == reflect.Pointer && t.Elem().PkgPath() == "go.opentelemetry.io/otel/internal/global"
}

// Tracer returns a tracer of the wrapped provider with labels for its spans. If the
// environment has OTEL_SDK_DISABLED=true or SPANPROF_DISABLED=true, or [WithOptIn] is not
// met, it is the wrapped provider's tracer itself.
func (tp *TracerProvider) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	inner := tp.Unwrap().Tracer(name, options...)
	if tp == nil || tp.labelling == nil || tp.labelling.config.disabled {
		return inner
	}
	return &tracer{inner: inner, by: tp.labelling}
}

// Unwrap returns the wrapped provider. A nil or zero TracerProvider wraps one that
// makes no spans.
func (tp *TracerProvider) Unwrap() trace.TracerProvider {
	if tp == nil || tp.inner == nil {
		return noop.NewTracerProvider()
	}
	return tp.inner
}

// Shutdown shuts the wrapped provider down, if it can be.
func (tp *TracerProvider) Shutdown(ctx context.Context) error {
	if p, ok := tp.Unwrap().(interface{ Shutdown(context.Context) error }); ok {
		return p.Shutdown(ctx)
	}
	return nil
}

// ForceFlush flushes the wrapped provider, if it can be.
func (tp *TracerProvider) ForceFlush(ctx context.Context) error {
	if p, ok := tp.Unwrap().(interface{ ForceFlush(context.Context) error }); ok {
		return p.ForceFlush(ctx)
	}
	return nil
}

// RegisterSpanProcessor registers sp with the wrapped provider. A provider that
// takes no processors is reported through otel.Handle, and so is a nil sp.
func (tp *TracerProvider) RegisterSpanProcessor(sp sdktrace.SpanProcessor) {
	if report.IsNil(sp) {
		otel.Handle(errors.New("spanprof: RegisterSpanProcessor: the span processor is nil and is not registered"))
		return
	}
	p, ok := tp.Unwrap().(interface {
		RegisterSpanProcessor(sdktrace.SpanProcessor)
	})
	if !ok {
		otel.Handle(fmt.Errorf("spanprof: RegisterSpanProcessor: %T takes no span processors; "+
			"wrap an sdk/trace.TracerProvider", tp.Unwrap()))
		return
	}
	p.RegisterSpanProcessor(sp)
}

// UnregisterSpanProcessor takes sp off the wrapped provider, if it takes
// processors at all.
func (tp *TracerProvider) UnregisterSpanProcessor(sp sdktrace.SpanProcessor) {
	if p, ok := tp.Unwrap().(interface {
		UnregisterSpanProcessor(sdktrace.SpanProcessor)
	}); ok {
		p.UnregisterSpanProcessor(sp)
	}
}
