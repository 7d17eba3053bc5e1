// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
)

// TestAllocations holds spans to what they may allocate above the bare SDK.
func TestAllocations(t *testing.T) {
	if spanprof.RaceEnabled() || !spanprof.ReadsGoroutineLabels() {
		t.Skip("the race detector and the public API allocate")
	}
	sdk := sdktrace.NewTracerProvider()
	never := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.NeverSample())))
	noID, all := spanprof.WithoutProfileIDAttribute(), spanprof.WithRootSpanOnly(false)
	urls := []spanprof.Option{
		spanprof.WithAppName("app"), spanprof.WithPyroscopeURL("http://localhost:4040"),
		spanprof.WithProfileURL(true), spanprof.WithProfileBaselineURL(true),
	}
	for _, test := range []struct {
		name    string
		inner   trace.TracerProvider
		options []spanprof.Option
		child   bool
		most    float64
	}{
		{"sampled local root, labels only", sdk, []spanprof.Option{noID}, false, 2},
		{"sampled local root, above the bound on names", sdk, []spanprof.Option{noID, spanprof.WithSpanNameLimit(1, 128)}, false, 2},
		{"sampled local root, all spans", sdk, []spanprof.Option{noID, all}, false, 2},
		{"sampled child, root scope", sdk, nil, true, 1},
		{"sampled child, all spans", sdk, []spanprof.Option{noID, all}, true, 2},
		{"never sampled", never, nil, false, 0},
		{"child of a never sampled span", never, nil, true, 0},
		{"sampled child, all spans, with the id", sdk, []spanprof.Option{all}, true, 3},
		{"root with the profile id", sdk, nil, false, 3},
		{"root with id, URL and baseline URL", sdk, urls, false, 7},
	} {
		bare := spanAllocations(test.inner, test.child)
		got := spanAllocations(spanprof.NewTracerProvider(test.inner, test.options...), test.child)
		if got-bare > test.most {
			t.Errorf("%s: %v allocations above the SDK's %v, want at most %v", test.name, got-bare, bare, test.most)
		}
	}
}

// Do allocates its labels, and Go its goroutine's function too.
func TestAllocationsOfDo(t *testing.T) {
	if spanprof.RaceEnabled() {
		t.Skip("the race detector allocates")
	}
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("test")
	ctx, span := tracer.Start(context.Background(), "root")
	span.End()
	byDo := testing.AllocsPerRun(1000, func() { spanprof.Do(ctx, func(context.Context) {}) })
	done := make(chan struct{})
	f := func(context.Context) { done <- struct{}{} }
	byGo := testing.AllocsPerRun(1000, func() {
		spanprof.Go(ctx, f)
		<-done
	})
	if byDo > 1 || byGo > 2 {
		t.Errorf("%v allocations by Do, %v by Go, want 1, the labels, and 2 with the goroutine's function", byDo, byGo)
	}
}

func spanAllocations(tp trace.TracerProvider, child bool) float64 {
	tracer := tp.Tracer("test")
	ctx := context.Background()
	_, first := tracer.Start(ctx, "first")
	first.End()
	if child {
		var parent trace.Span
		ctx, parent = tracer.Start(ctx, "parent")
		defer parent.End()
	}
	return testing.AllocsPerRun(1000, func() {
		_, span := tracer.Start(ctx, "operation")
		span.End()
	})
}
