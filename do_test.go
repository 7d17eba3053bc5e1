// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"context"
	"maps"
	"runtime/pprof"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/conformance"
)

// carries checks the labels of the calling goroutine.
func carries(t *testing.T, when string, want map[string]string) {
	t.Helper()
	if got := conformance.GoroutineLabels(); !maps.Equal(got, want) {
		t.Errorf("%s: labels %v, want %v", when, got, want)
	}
}

// spanLabels is what the labels of a span should be, and others beside them.
func spanLabels(span trace.Span, name string, others ...string) map[string]string {
	sc := span.SpanContext()
	want := map[string]string{
		"profile_id": sc.SpanID().String(), "span_id": sc.SpanID().String(),
		"span_name": name, "trace_id": sc.TraceID().String(),
	}
	for i := 0; i < len(others); i += 2 {
		want[others[i]] = others[i+1]
	}
	return want
}

// onWorker runs f on a goroutine that carries a label of its own.
func onWorker(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("worker", "3")))
		f()
	}()
	<-done
}

func TestDo(t *testing.T) {
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("test")
	var ctx context.Context
	var root trace.Span
	pprof.Do(t.Context(), pprof.Labels("tenant", "a"), func(tenant context.Context) {
		ctx, root = tracer.Start(tenant, "root")
		root.End()
	})
	reads := spanprof.ReadsGoroutineLabels()
	onWorker(func() {
		spanprof.Do(ctx, func(inner context.Context) {
			want := spanLabels(root, "root", "tenant", "a", "worker", "3")
			if !reads {
				delete(want, "worker")
			}
			carries(t, "in Do", want)
			if inner != ctx {
				t.Error("f got another context")
			}
		})
		want := map[string]string{"worker": "3"}
		if !reads {
			want = map[string]string{}
		}
		carries(t, "after Do", want)
	})
	onWorker(func() {
		defer func() {
			if r := recover(); r != "oops" {
				t.Errorf("recovered %v", r)
			}
			if reads {
				carries(t, "after a panic in Do", map[string]string{"worker": "3"})
			}
		}()
		spanprof.Do(ctx, func(context.Context) { panic("oops") })
	})
	if reads {
		onWorker(func() {
			spanprof.Do(context.Background(), func(context.Context) {
				carries(t, "in Do without labels", map[string]string{"worker": "3"})
			})
		})
	}
}

// A span within Do belongs to the local root, and leaves Do's labels.
func TestSpanInDo(t *testing.T) {
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("test")
	ctx, root := tracer.Start(context.Background(), "root")
	elsewhere := make(chan struct{})
	go func() {
		defer close(elsewhere)
		pprof.SetGoroutineLabels(context.Background()) //nolint:contextcheck // a goroutine without labels
		spanprof.Do(ctx, func(ctx context.Context) {
			_, child := tracer.Start(ctx, "child")
			carries(t, "in child", spanLabels(root, "root"))
			child.End()
			carries(t, "after child", spanLabels(root, "root"))
		})
		carries(t, "after Do", map[string]string{})
	}()
	<-elsewhere
	root.End()
}

// Work of a local root that has ended stays its work after a child span.
func TestSpanInDoAfterItsRoot(t *testing.T) {
	if !spanprof.ReadsGoroutineLabels() {
		t.Skip("by the public API alone End sets the labels of its context")
	}
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("test")
	consumerCtx, consumer := tracer.Start(context.Background(), "consumer")
	ctx, message := tracer.Start(consumerCtx, "message", trace.WithNewRoot())
	message.End()
	work := func(ctx context.Context) {
		carries(t, "before the child", spanLabels(message, "message"))
		_, child := tracer.Start(ctx, "child")
		carries(t, "in the child", spanLabels(message, "message"))
		child.End()
		carries(t, "after the child", spanLabels(message, "message"))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		pprof.SetGoroutineLabels(context.Background()) //nolint:contextcheck // a goroutine without labels
		spanprof.Do(ctx, work)
		carries(t, "after Do", map[string]string{})
	}()
	<-done
	done = make(chan struct{})
	spanprof.Go(ctx, func(ctx context.Context) {
		defer close(done)
		work(ctx)
	})
	<-done
	consumer.End()
}

// Deep nesting in order restores every parent.
func TestDeepNesting(t *testing.T) {
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(), spanprof.WithRootSpanOnly(false))
	ctx := context.Background()
	const deep = 1000
	spans := make([]trace.Span, deep)
	for i := range spans {
		ctx, spans[i] = tp.Tracer("test").Start(ctx, "nested")
	}
	for i := deep - 1; i > 0; i-- {
		spans[i].End()
		if i%100 == 1 {
			carries(t, "in the parent", spanLabels(spans[i-1], "nested"))
		}
	}
	spans[0].End()
	carries(t, "after all", map[string]string{})
	if n := tp.EndsElsewhere(); n != 0 {
		t.Errorf("EndsElsewhere() is %d", n)
	}
}

func TestGo(t *testing.T) {
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("test")
	ctx, root := tracer.Start(context.Background(), "root")
	defer root.End()
	_, other := tracer.Start(context.Background(), "other")
	defer other.End()
	for want, ctx := range map[string]context.Context{"root": ctx, "": context.Background()} {
		done := make(chan struct{})
		spanprof.Go(ctx, func(context.Context) {
			defer close(done)
			if want == "" {
				carries(t, "without labels", map[string]string{})
			} else {
				carries(t, "in Go", spanLabels(root, "root"))
			}
		})
		<-done
	}
}

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
			if n := processor.EndsElsewhere() + processor.Unlabelled(); n != 0 {
				t.Errorf("%d ends elsewhere and unlabelled spans", n)
			}
		})
	}
}

// Spans that never end are bounded, and so are the labels.
func TestSpanProcessorBound(t *testing.T) {
	processor := spanprof.NewSpanProcessor()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor)).Tracer("test")
	const started = 100_000
	spans := make([]trace.Span, started)
	for i := range spans {
		_, spans[i] = tracer.Start(context.Background(), "leaked")
	}
	if n := processor.Unlabelled(); n < started-64*1024 || n == started {
		t.Errorf("%d of %d spans have no labels", n, started)
	}
	for _, span := range spans {
		span.End()
	}
	before := processor.Unlabelled()
	_, span := tracer.Start(context.Background(), "root")
	span.End()
	if processor.Unlabelled() != before {
		t.Error("no room after all spans have ended")
	}
	pprof.SetGoroutineLabels(context.Background())
}

// Spans that are open at Shutdown do not leave their labels behind for good.
func TestSpanProcessorShutdown(t *testing.T) {
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spanprof.NewSpanProcessor()))
	ctx, root := sdk.Tracer("test").Start(context.Background(), "root")
	_, child := sdk.Tracer("test").Start(ctx, "child")
	if err := sdk.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, next := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("test").Start(context.Background(), "next")
	next.End()
	carries(t, "after the next span", map[string]string{})
	child.End()
	root.End()
	carries(t, "after the spans", map[string]string{})
}
