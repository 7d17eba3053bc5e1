// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// stateKey finds the innermost spanState of a context.
type stateKey struct{}

// spanContext is what Start returns: the context that the inner tracer
// returned, with our span for its span and our labels for runtime/pprof.
type spanContext struct {
	context.Context
	span  trace.Span
	state *spanState
}

func (c *spanContext) Value(key any) any {
	switch key {
	case otelSpanKey:
		return c.span
	case pprofLabelsKey:
		return c.state.contextValue()
	case any(stateKey{}):
		return c.state
	}
	return c.Context.Value(key)
}

// innerContext is what the inner tracer is given for a child span: the
// caller's context with the inner provider's own span in it, so that the SDK
// counts the child (ChildSpanCount) and samplers and processors see the span
// they know.
type innerContext struct {
	context.Context
	span trace.Span
}

func (c *innerContext) Value(key any) any {
	if key == otelSpanKey {
		return c.span
	}
	return c.Context.Value(key)
}
