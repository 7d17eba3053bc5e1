// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"runtime/pprof"

	"go.opentelemetry.io/otel/trace"
)

// The keys under which OpenTelemetry and runtime/pprof keep their values in a
// context. Both are unexported; each shows itself to a context that it asks.
// They let one context node answer for both, where the public API would cost a
// node each.
var (
	otelSpanKey = askedKey(func(ctx context.Context) {
		trace.SpanFromContext(ctx)
	})
	pprofLabelsKey = askedKey(func(ctx context.Context) {
		pprof.Label(ctx, "")
	})
)

func askedKey(ask func(context.Context)) any {
	ctx := &askedContext{Context: context.Background()}
	ask(ctx)
	return ctx.key
}

// askedContext remembers the last key that it was asked for.
type askedContext struct {
	context.Context
	key any
}

func (c *askedContext) Value(key any) any {
	c.key = key
	return nil
}
