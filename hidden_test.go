// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"context"
	"runtime/pprof"
	"strconv"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/conformance"
)

// hiddenProvider is a provider of another make. Its spans hide the SDK's behind the API.
type hiddenProvider struct {
	embedded.TracerProvider
	inner trace.TracerProvider
}

type hiddenTracer struct {
	embedded.Tracer
	inner trace.Tracer
}

type hiddenSpan struct{ trace.Span }

func (p hiddenProvider) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	return hiddenTracer{inner: p.inner.Tracer(name, options...)}
}

func (t hiddenTracer) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if parent, ok := trace.SpanFromContext(ctx).(*hiddenSpan); ok {
		ctx = trace.ContextWithSpan(ctx, parent.Span)
	}
	ctx, span := t.inner.Start(ctx, name, options...)
	hidden := &hiddenSpan{span}
	return trace.ContextWithSpan(ctx, hidden), hidden
}

// All but what only the SDK's own types can do holds for providers of another
// make too.
func TestConformanceOfForeignProvider(t *testing.T) {
	reports(t) // that it takes no span processors
	for name, allSpans := range map[string]bool{"root scope": false, "all spans": true} {
		w := conformance.Wrapper{
			Wrap: func(tp trace.TracerProvider) trace.TracerProvider {
				return spanprof.NewTracerProvider(hiddenProvider{inner: tp}, spanprof.WithRootSpanOnly(!allSpans))
			},
			AllSpans:   allSpans,
			CannotRead: !spanprof.ReadsGoroutineLabels(),
		}
		for _, row := range conformance.Rows {
			switch row.Name {
			case "spans are ReadOnlySpan and ReadWriteSpan of the SDK", "Shutdown, ForceFlush, processors and Unwrap are reachable":
				continue
			}
			t.Run(name+"/"+row.Name, func(t *testing.T) {
				if err := w.Run(row); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A span of a middleware that wraps ours counts as ours.
func TestSpanAroundOurs(t *testing.T) {
	for name, processors := range map[string][]sdktrace.TracerProviderOption{
		"wrapper":                   nil,
		"wrapper and SpanProcessor": {sdktrace.WithSpanProcessor(spanprof.NewSpanProcessor())},
	} {
		tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(processors...)).Tracer("test")
		ctx, root := tracer.Start(context.Background(), "root")
		ctx = trace.ContextWithSpan(ctx, &hiddenSpan{root})
		_, child := tracer.Start(ctx, "child")
		carries(t, name+": in child", spanLabels(root, "root"))
		child.End()
		carries(t, name+": after child", spanLabels(root, "root"))
		done := make(chan struct{})
		go func() {
			defer close(done)
			pprof.SetGoroutineLabels(context.Background())
			_, child := tracer.Start(ctx, "child")
			carries(t, name+": in a worker's child", spanLabels(root, "root"))
			child.End()
			want := map[string]string{}
			if !spanprof.ReadsGoroutineLabels() {
				want = spanLabels(root, "root") // End sets the labels of the job's context
			}
			carries(t, name+": after a worker's child", want)
		}()
		<-done
		root.End()
		carries(t, name+": after root", map[string]string{})
	}
}

// The URLs of a span without a readable start and service.
func TestURLsOfForeignSpans(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	inner := hiddenProvider{inner: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))}
	tp := spanprof.NewTracerProvider(inner, spanprof.WithPyroscopeURL("http://localhost:4040"), spanprof.WithProfileURL(true))
	before := time.Now()
	_, span := tp.Tracer("test").Start(context.Background(), "root")
	started := time.Now()
	span.End()
	query := parse(t, attributes(recorder.Ended()[0])[attributeProfileURL]).Query()
	if want := `.cpu{profile_id="` + span.SpanContext().SpanID().String() + `"}`; query.Get("query") != want {
		t.Errorf("query %s, want %s", query.Get("query"), want)
	}
	if from, err := strconv.ParseInt(query.Get("from"), 10, 64); err != nil || from < before.UnixNano() || from > started.UnixNano() {
		t.Errorf("from %s, want between %d and %d: %v", query.Get("from"), before.UnixNano(), started.UnixNano(), err)
	}
}
