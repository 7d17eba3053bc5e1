// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"context"
	"slices"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
)

// TestAllocations holds spans to what they may allocate above the bare SDK.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	sdk := sdktrace.NewTracerProvider()
	never := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.NeverSample())))
	noID, all := spanprof.WithoutProfileIDAttribute(), spanprof.WithRootSpanOnly(false)
	urls := []spanprof.Option{
		spanprof.WithAppName("app"), spanprof.WithPyroscopeURL("http://localhost:4040"),
		spanprof.WithProfileURL(true), spanprof.WithProfileBaselineURL(true),
	}
	for _, test := range []struct {
		name            string
		inner           trace.TracerProvider
		options         []spanprof.Option
		child           bool
		runtime, public float64 // most allocations, by labeler
	}{
		{"sampled local root, labels only", sdk, []spanprof.Option{noID}, false, 2, 5},
		{"sampled local root, above the bound on names", sdk, []spanprof.Option{noID, spanprof.WithSpanNameLimit(1, 128)}, false, 2, 5},
		{"sampled local root, all spans", sdk, []spanprof.Option{noID, all}, false, 2, 5},
		{"sampled child, root scope", sdk, nil, true, 1, 1},
		{"sampled child, all spans", sdk, []spanprof.Option{noID, all}, true, 2, 7},
		{"never sampled", never, nil, false, 0, 0},
		{"child of a never sampled span", never, nil, true, 0, 0},
		{"sampled child, all spans, with the id", sdk, []spanprof.Option{all}, true, 3, 8},
		{"root with the profile id", sdk, nil, false, 3, 6},
		{"root with id, URL and baseline URL", sdk, urls, false, 7, 10},
	} {
		for _, public := range []bool{false, true} {
			options, most := test.options, test.runtime
			if public {
				options = append(slices.Clip(options), spanprof.WithPublicLabelsOnly())
			}
			if public || !spanprof.ReadsGoroutineLabels() {
				most = test.public
			}
			bare := spanAllocations(test.inner, test.child)
			got := spanAllocations(spanprof.NewTracerProvider(test.inner, options...), test.child)
			if got-bare > most {
				t.Errorf("%s, public API %t: %v allocations above the SDK's %v, want at most %v", test.name, public, got-bare, bare, most)
			}
		}
	}
}

// Do costs no allocation, and Go only its goroutine.
func TestAllocationsOfDo(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, public := range []bool{false, true} {
		var options []spanprof.Option
		if public {
			options = append(options, spanprof.WithPublicLabelsOnly())
		}
		tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(), options...).Tracer("test")
		ctx, span := tracer.Start(context.Background(), "root")
		span.End()
		byDo := testing.AllocsPerRun(1000, func() { spanprof.Do(ctx, func(context.Context) {}) })
		done := make(chan struct{})
		f := func(context.Context) { done <- struct{}{} }
		byGo := testing.AllocsPerRun(1000, func() {
			spanprof.Go(ctx, f)
			<-done
		})
		if byDo > 0 || byGo > 1 {
			t.Errorf("public API %t: %v allocations by Do, %v by Go, want 0 and 1, the goroutine's function", public, byDo, byGo)
		}
	}
}

// Eight bytes more put every span, or every label block, into the next size class, 16 or 32
// bytes above.
func TestSpanStateIsSmall(t *testing.T) {
	if limit := uintptr(144); spanprof.SpanStateSize > limit {
		t.Errorf("the state of a span takes %d bytes, want at most %d", spanprof.SpanStateSize, limit)
	}
	if limit := uintptr(320); spanprof.LabelBlockSize > limit {
		t.Errorf("the labels of a span take %d bytes, want at most %d", spanprof.LabelBlockSize, limit)
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

func BenchmarkSpan(b *testing.B) {
	sdk := sdktrace.NewTracerProvider()
	for name, tp := range map[string]trace.TracerProvider{
		"sdk":                         sdk,
		"root scope":                  spanprof.NewTracerProvider(sdk),
		"all spans":                   spanprof.NewTracerProvider(sdk, spanprof.WithRootSpanOnly(false)),
		"without attribute":           spanprof.NewTracerProvider(sdk, spanprof.WithoutProfileIDAttribute()),
		"public API":                  spanprof.NewTracerProvider(sdk, spanprof.WithPublicLabelsOnly()),
		"never sampled":               spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))),
		"never sampled, by the SDK":   sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())),
		"root with URLs and baseline": spanprof.NewTracerProvider(sdk, spanprof.WithPyroscopeURL("http://localhost:4040"), spanprof.WithProfileURL(true), spanprof.WithProfileBaselineURL(true)),
	} {
		b.Run(name, func(b *testing.B) {
			tracer := tp.Tracer("test")
			b.ReportAllocs()
			for b.Loop() {
				_, span := tracer.Start(context.Background(), "operation")
				span.End()
			}
		})
	}
}
