// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/contextkey"
	"github.com/spanprof/spanprof/internal/goruntime"
)

// The keys under which OpenTelemetry and runtime/pprof keep their values in a
// context. Both are unexported; each shows itself to a context that it asks.
// They let one context node answer for both, where the public API would cost a
// node each.
var (
	otelSpanKey = contextkey.Asked(func(ctx context.Context) {
		trace.SpanFromContext(ctx)
	})
	pprofLabelsKey = goruntime.LabelsKey
)
