// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/report/reporttest"
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

// What only the SDK's own types can do is missing, and reported.
func TestForeignProvider(t *testing.T) {
	reported := reporttest.Collect(t)
	tp := spanprof.NewTracerProvider(hiddenProvider{inner: sdktrace.NewTracerProvider()})
	_, span := tp.Tracer("test").Start(t.Context(), "root")
	span.End()
	if _, ok := span.(sdktrace.ReadOnlySpan); ok {
		t.Errorf("got a readable %T", span)
	}
	processor := tracetest.NewSpanRecorder()
	tp.RegisterSpanProcessor(processor)
	tp.UnregisterSpanProcessor(processor)
	if err := errors.Join(tp.ForceFlush(t.Context()), tp.Shutdown(t.Context())); err != nil {
		t.Error(err)
	}
	if got := reported(); len(got) != 1 || !strings.Contains(got[0], "hiddenProvider takes no span processors") {
		t.Errorf("reports %q", got)
	}
}

// A span of a middleware that wraps ours counts as ours.
func TestSpanAroundOurs(t *testing.T) {
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("test")
	ctx, root := tracer.Start(context.Background(), "root")
	ctx = trace.ContextWithSpan(ctx, &hiddenSpan{root})
	_, child := tracer.Start(ctx, "child")
	carries(t, "in child", spanLabels(root, "root"))
	child.End()
	carries(t, "after child", spanLabels(root, "root"))
	root.End()
	carries(t, "after root", map[string]string{})
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
