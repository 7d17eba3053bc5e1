// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"context"
	"runtime/pprof"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/spanlabels"
)

func TestSpanProcessor(t *testing.T) {
	for name, all := range map[string]bool{"root scope": false, "all spans": true} {
		t.Run(name, func(t *testing.T) {
			processor := spanprof.NewSpanProcessor(spanprof.WithRootSpanOnly(!all))
			sdk := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor))
			for name, tracer := range map[string]trace.Tracer{
				"alone":        sdk.Tracer("test"),
				"with wrapper": spanprof.NewTracerProvider(sdk, spanprof.WithRootSpanOnly(!all)).Tracer("test"),
			} {
				pprof.Do(t.Context(), pprof.Labels("tenant", "a"), func(ctx context.Context) {
					rootCtx, root := tracer.Start(ctx, "root")
					carries(t, name+": in root", spanLabels(root, "root", "tenant", "a"))
					_, child := tracer.Start(rootCtx, "child")
					want := spanLabels(root, "root", "tenant", "a")
					if all {
						want = spanLabels(child, "child", "tenant", "a")
					}
					carries(t, name+": in child", want)
					child.End()
					if spanprof.ReadsGoroutineLabels() || name != "alone" {
						carries(t, name+": after child", spanLabels(root, "root", "tenant", "a"))
					}
					root.End()
					carries(t, name+": after root", map[string]string{"tenant": "a"})
				})
			}
		})
	}
}

// Spans that never end are bounded, and so are the labels. A root that has ended frees the room of
// its children for the next span.
func TestSpanProcessorBound(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spanprof.NewSpanProcessor())).Tracer("test")
	for range 2 {
		before := spanlabels.Counts.NoRoom.Load()
		ctx, root := tracer.Start(context.Background(), "root")
		const started = 100_000
		for range started {
			tracer.Start(ctx, "forgotten")
		}
		if n := spanlabels.Counts.NoRoom.Load() - before; n < started-64*1024 || n == started {
			t.Errorf("%d of %d spans have no labels", n, started)
		}
		root.End()
		_, next := tracer.Start(context.Background(), "next")
		carries(t, "in the next span", spanLabels(next, "next"))
		next.End()
		carries(t, "after it", map[string]string{})
	}
}

// The self-check counts a span once that both a wrapper and a processor label.
func TestSpanProcessorCountsOnce(t *testing.T) {
	sampled := &spanlabels.Counts.Sampled
	sampled.Store(0)
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spanprof.NewSpanProcessor()))
	tp := spanprof.NewTracerProvider(sdk)
	for range 10 {
		_, span := tp.Tracer("test").Start(context.Background(), "span")
		span.End()
	}
	if n := sampled.Load(); n != 10 && spanprof.ReadsGoroutineLabels() {
		t.Errorf("10 spans count as %d", n)
	}
}

// A processor that is registered twice labels each span once.
func TestSpanProcessorTwice(t *testing.T) {
	processor := spanprof.NewSpanProcessor()
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor), sdktrace.WithSpanProcessor(processor))
	_, span := sdk.Tracer("test").Start(context.Background(), "span")
	if spanprof.ReadsGoroutineLabels() {
		carries(t, "in span", spanLabels(span, "span"))
	}
	span.End()
	carries(t, "after span", map[string]string{})
}

// Spans that are open at Shutdown do not leave their labels behind for good. Later spans get none:
// the SDK serves spans until it has shut all processors down.
func TestSpanProcessorShutdown(t *testing.T) {
	processor := spanprof.NewSpanProcessor()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor)).Tracer("test")
	ctx, root := tracer.Start(context.Background(), "root")
	_, child := tracer.Start(ctx, "child")
	if err := processor.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, next := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("test").Start(context.Background(), "next")
	next.End()
	carries(t, "after the next span", map[string]string{})
	_, late := tracer.Start(context.Background(), "late")
	carries(t, "in a span that starts after Shutdown", map[string]string{})
	for _, span := range []trace.Span{late, child, root} {
		span.End()
	}
	carries(t, "after the spans", map[string]string{})
}

// askedContext calls a function when it is asked for a value.
type askedContext struct {
	context.Context
	f func()
}

func (c askedContext) Value(key any) any {
	c.f()
	return c.Context.Value(key)
}

// A Shutdown while a span starts, before its labels are known.
func TestShutdownWithinOnStart(t *testing.T) {
	processor := spanprof.NewSpanProcessor()
	_, span := sdktrace.NewTracerProvider().Tracer("test").Start(context.Background(), "span")
	ctx := askedContext{context.Background(), func() { _ = processor.Shutdown(context.Background()) }}
	processor.OnStart(ctx, span.(sdktrace.ReadWriteSpan))
	_, next := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("test").Start(context.Background(), "next")
	next.End()
	carries(t, "after the next span", map[string]string{})
}

// A framework's provider with a SpanProcessor, called by an application that
// wraps another provider.
func TestSpanProcessorWithinAnotherProvider(t *testing.T) {
	wrapped := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("test")
	framework := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spanprof.NewSpanProcessor())).Tracer("test")
	ctx, root := wrapped.Start(context.Background(), "root")
	_, own := framework.Start(ctx, "own", trace.WithNewRoot())
	carries(t, "in the framework's root", spanLabels(own, "own"))
	own.End()
	if spanprof.ReadsGoroutineLabels() {
		carries(t, "after the framework's root", spanLabels(root, "root"))
	}
	root.End()
	carries(t, "after root", map[string]string{})
}

// The child of a root that has ended carries the root's labels by the wrapper. The
// processor must not give it an id without a profile.
func TestSpanProcessorLeavesTheWrappersChildren(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(spanprof.NewSpanProcessor()), sdktrace.WithSpanProcessor(recorder))).Tracer("test")
	_, root := tracer.Start(context.Background(), "root")
	root.End()
	_, child := tracer.Start(trace.ContextWithSpan(context.Background(), root), "child")
	carries(t, "in child", spanLabels(root, "root"))
	child.End()
	if got := attributes(recorder.Ended()[1]); len(got) != 0 {
		t.Errorf("child has %v, its samples the id %s", got, root.SpanContext().SpanID())
	}
	carries(t, "after child", map[string]string{})
}
