// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// SpanProcessor returns the processor that records spans: local roots, and
// spans with the attribute pyroscope.profile.id; or all, where a provider of package spanprof
// gives every span a profile of its own without that attribute. Register it on the tracer
// provider. Its Shutdown and ForceFlush do nothing, so that the tracer provider
// and the profiler may be shut down in any order.
//
// It reads spans for some time after they ended: other processors and exporters must not
// change the attributes and events that a ReadOnlySpan returns.
func (s *Store) SpanProcessor() sdktrace.SpanProcessor {
	return &spanProcessor{log: s.spans}
}

type spanProcessor struct{ log *spanlog.Log }

var _ sdktrace.SpanProcessor = (*spanProcessor)(nil)

// OnStart remembers local roots only: other spans have their attributes later,
// and samples that name them by span_id find them when they end.
func (p *spanProcessor) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) { p.log.Start(s) }

func (p *spanProcessor) OnEnd(s sdktrace.ReadOnlySpan) { p.log.End(s) }

func (p *spanProcessor) Shutdown(context.Context) error { return nil }

func (p *spanProcessor) ForceFlush(context.Context) error { return nil }
