// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/spanlabels"
)

// maxOpen bounds the memory for spans that are never ended.
const maxOpen = 60_000

type spanProcessor struct {
	labelling *labelling
	open      sync.Map     // of openKey to *spanState
	count     atomic.Int64 // spans in open
	// started counts OnStart. From again on a full room may be swept.
	started, again atomic.Int64
	shut           atomic.Bool
}

type openKey struct {
	trace trace.TraceID
	span  trace.SpanID
}

// NewSpanProcessor returns a processor that labels goroutines from within the SDK,
// for frameworks that make the tracer provider themselves. Wrap the provider where
// you can: the wrapper has no such limits, and its labels count if there are both.
//   - The labels are not in the context that Start returns: a pprof.Do inside the
//     span removes them, and a goroutine of a pool needs a span of its own.
//   - The name and the profile id are set at Start, and there are no URLs.
//   - In root scope the child of a span that has ended is a local root.
//   - There is room for 60,000 spans that are open or have an open root, not for more.
//   - Names of more than 60,000 bytes are cut in an execution trace.
func NewSpanProcessor(opts ...Option) sdktrace.SpanProcessor {
	opts = append(slices.Clone(opts), WithProfileURL(false), WithProfileBaselineURL(false))
	return &spanProcessor{labelling: newLabelling(newConfig(opts))}
}

// OnStart labels the calling goroutine.
func (p *spanProcessor) OnStart(ctx context.Context, span sdktrace.ReadWriteSpan) {
	if c, ok := ctx.(*spanContext); ok && c.state == nil || p.labelling.config.disabled || !p.hasRoom() {
		return // a spanContext without state is for a child that a TracerProvider labels
	}
	var above *spanState
	if parent := span.Parent(); !parent.IsRemote() {
		found, _ := p.open.Load(openKey{parent.TraceID(), parent.SpanID()})
		above, _ = found.(*spanState)
	}
	if crashesTrace(span.Name()) {
		span.SetName(goruntime.CutTaskName(span.Name())) // for good: OnEnd can change nothing
	}
	sc, s := span.SpanContext(), &spanState{byProcessor: true}
	p.labelling.begin(ctx, ctx, span, &sc, s, above, span.Name())
	if s.profiled && !p.labelling.config.noProfileID {
		span.SetAttributes(attribute.String(AttributeProfileID, s.block.ID()))
	}
	if s.root != nil {
		if _, twice := p.open.LoadOrStore(openKey{sc.TraceID(), sc.SpanID()}, s); twice {
			s.finish(nil) // p is registered twice
			return
		}
		p.count.Add(1)
	}
	if p.shut.Load() {
		s.abandon()
	}
}

// OnEnd puts back what the goroutine carried.
func (p *spanProcessor) OnEnd(span sdktrace.ReadOnlySpan) {
	sc := span.SpanContext()
	if s, ok := p.open.LoadAndDelete(openKey{sc.TraceID(), sc.SpanID()}); ok {
		p.count.Add(-1)
		s.(*spanState).finish(nil)
	}
}

// Shutdown releases the labels of open spans: a tracer provider that shuts down
// reports few of their ends.
func (p *spanProcessor) Shutdown(context.Context) error {
	p.shut.Store(true)
	p.open.Range(func(_, s any) bool { s.(*spanState).abandon(); return true })
	return nil
}

func (p *spanProcessor) ForceFlush(context.Context) error { return nil }

// hasRoom reports whether one more span can be labelled.
func (p *spanProcessor) hasRoom() bool {
	n, full := p.started.Add(1), p.count.Load() >= maxOpen
	switch { // rarely, since it reads all spans
	case full && n >= p.again.Load():
		p.again.Store(n + 1024)
		p.sweep(true)
		full = p.count.Load() >= maxOpen
	case n%4096 == 0:
		p.sweep(false)
	}
	if full {
		spanlabels.Counts.NoRoom.Add(1)
	}
	return !full && !p.shut.Load()
}

// sweep removes spans of local roots that have ended. Unless the room is full, it
// keeps those with labels on another goroutine, which may still end.
func (p *spanProcessor) sweep(full bool) {
	p.open.Range(func(key, value any) bool {
		s := value.(*spanState)
		if s.root.block.Ended() && (full || s.block == nil || s.block.Ended()) && p.open.CompareAndDelete(key, s) {
			p.count.Add(-1)
			s.abandon()
		}
		return true
	})
}
