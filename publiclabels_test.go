// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

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
