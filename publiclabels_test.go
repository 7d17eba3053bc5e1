// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"context"
	"errors"
	"maps"
	"runtime/pprof"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/conformance"
	"github.com/spanprof/spanprof/internal/goruntime"
)

// A runtime that is not as expected is reported once for each provider, and spans
// are labelled by the public API. That a program chose it is not reported.
func TestPublicLabelsOnly(t *testing.T) {
	changed := errors.New("labels are kept as map[string]string")
	for name, test := range map[string]struct {
		options []spanprof.Option
		reports int
	}{
		"changed runtime":           {[]spanprof.Option{spanprof.WithUnknownRuntime(changed)}, 1},
		"build tag":                 {[]spanprof.Option{spanprof.WithUnknownRuntime(goruntime.ErrPublic)}, 0},
		"option":                    {[]spanprof.Option{spanprof.WithPublicLabelsOnly()}, 0},
		"option on changed runtime": {[]spanprof.Option{spanprof.WithPublicLabelsOnly(), spanprof.WithUnknownRuntime(changed)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			reports := 0
			before := otel.GetErrorHandler()
			otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
				if reports++; !errors.Is(err, changed) || !strings.Contains(err.Error(), "WithPublicLabelsOnly") {
					t.Errorf("otel.Handle heard %q", err)
				}
			}))
			defer otel.SetErrorHandler(before)

			tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(), test.options...)
			if !tp.PublicLabelsOnly() {
				t.Error("PublicLabelsOnly is false")
			}
			_, span := tp.Tracer("test").Start(context.Background(), "operation")
			if got := conformance.GoroutineLabels(); got[spanprof.LabelSpanID] != span.SpanContext().SpanID().String() {
				t.Errorf("labels in the span: %v", got)
			}
			span.End()
			if got := conformance.GoroutineLabels(); len(got) != 0 {
				t.Errorf("labels after the span: %v", got)
			}
			if reports != test.reports {
				t.Errorf("%d reports, want %d", reports, test.reports)
			}
		})
	}
}

// Where the parent has ended before its child, what comes back are the user's labels
// and those from before the parent; also behind a long chain of ended spans.
func TestPublicLabelsOfEndedSpansStayOff(t *testing.T) {
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(), spanprof.WithPublicLabelsOnly()).Tracer("test")
	defer pprof.SetGoroutineLabels(context.Background())
	want := conformance.Labels{"tenant": "a"}
	for _, ended := range []int{1, 2, 31, 32, 33, 1000} {
		ctx := context.Background()
		var spans []trace.Span
		for range ended {
			var span trace.Span
			ctx, span = tracer.Start(ctx, "ended")
			spans = append(spans, span)
		}
		_, child := tracer.Start(pprof.WithLabels(ctx, pprof.Labels("tenant", "a")), "child")
		for _, span := range spans {
			span.End()
		}
		child.End()
		if got := conformance.GoroutineLabels(); !maps.Equal(got, want) {
			t.Errorf("%d ended spans: labels %v, want %v", ended, got, want)
		}
	}
}
