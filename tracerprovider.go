// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"
)

// TracerProvider wraps a trace.TracerProvider: its tracers start the wrapped
// provider's spans and label the goroutine for them. It is safe for concurrent
// use.
type TracerProvider struct {
	embedded.TracerProvider
	inner  trace.TracerProvider
	config config

	labeler labeler
	names   *spanNames
	links   *links // nil without URL attributes

	endsElsewhere atomic.Uint64
}

var _ trace.TracerProvider = (*TracerProvider)(nil)

// NewTracerProvider returns a provider that wraps tp, usually a
// *sdktrace.TracerProvider. Wrap the SDK's provider itself and set the result
// by otel.SetTracerProvider; do not wrap what otel.GetTracerProvider returns
// before a provider has been set, for then each would delegate to the other.
//
// A *TracerProvider is not wrapped twice: its wrapped provider is wrapped anew,
// with opts alone.
//
// Options that cannot work are reported through otel.Handle and left out.
func NewTracerProvider(tp trace.TracerProvider, opts ...Option) *TracerProvider {
	if wrapped, ok := tp.(*TracerProvider); ok && wrapped != nil {
		tp = wrapped.inner
	}
	if tp == nil {
		otel.Handle(errors.New("spanprof: NewTracerProvider: the provider to wrap is nil; no spans will be made"))
		tp = noop.NewTracerProvider()
	}
	c := newConfig(opts)
	return &TracerProvider{
		inner:   tp,
		config:  c,
		labeler: newLabeler(),
		names:   newSpanNames(c.maxNames, c.maxNameBytes),
		links:   newLinks(&c),
	}
}

// Tracer returns a tracer of the wrapped provider whose spans are labelled.
// Where the environment has OTEL_SDK_DISABLED=true or SPANPROF_DISABLED=true
// it is the wrapped provider's tracer itself.
func (tp *TracerProvider) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	inner := tp.inner.Tracer(name, options...)
	if tp.config.disabled {
		return inner
	}
	return &tracer{inner: inner, tp: tp}
}

// Unwrap returns the wrapped provider.
func (tp *TracerProvider) Unwrap() trace.TracerProvider { return tp.inner }

// Shutdown shuts the wrapped provider down, if it can be.
func (tp *TracerProvider) Shutdown(ctx context.Context) error {
	if p, ok := tp.inner.(interface{ Shutdown(context.Context) error }); ok {
		return p.Shutdown(ctx)
	}
	return nil
}

// ForceFlush flushes the wrapped provider, if it can be.
func (tp *TracerProvider) ForceFlush(ctx context.Context) error {
	if p, ok := tp.inner.(interface{ ForceFlush(context.Context) error }); ok {
		return p.ForceFlush(ctx)
	}
	return nil
}

// RegisterSpanProcessor registers sp with the wrapped provider. A provider that
// takes no processors is reported through otel.Handle.
func (tp *TracerProvider) RegisterSpanProcessor(sp sdktrace.SpanProcessor) {
	p, ok := tp.inner.(interface {
		RegisterSpanProcessor(sdktrace.SpanProcessor)
	})
	if !ok {
		otel.Handle(fmt.Errorf("spanprof: RegisterSpanProcessor: %T takes no span processors; wrap an sdk/trace.TracerProvider", tp.inner))
		return
	}
	p.RegisterSpanProcessor(sp)
}

// UnregisterSpanProcessor takes sp off the wrapped provider, if it takes
// processors at all.
func (tp *TracerProvider) UnregisterSpanProcessor(sp sdktrace.SpanProcessor) {
	if p, ok := tp.inner.(interface {
		UnregisterSpanProcessor(sdktrace.SpanProcessor)
	}); ok {
		p.UnregisterSpanProcessor(sp)
	}
}

// EndsElsewhere returns how many labelled spans ended on a goroutine that did
// not carry their labels. The goroutine that such a span started on keeps its
// labels until something else sets them; end spans where they start, or run
// what ends elsewhere by pprof.Do.
func (tp *TracerProvider) EndsElsewhere() uint64 { return tp.endsElsewhere.Load() }
