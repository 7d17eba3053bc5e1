// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/exporter"
)

// A program that forgets to give the profiler its resource has its spans joined
// and completed, and is told once.
func TestServicesDiffer(t *testing.T) {
	reports := make(chan string, 10)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { reports <- err.Error() }))
	t.Cleanup(func() { otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {})) })

	s := newStore(t)
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor()),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "other"))))
	_, span := tp.Tracer("test").Start(t.Context(), "GET /", at(0))
	span.End(at(0.5))
	for i := range 3 {
		export(t, s, inWindow(i, exporter.KindCPU, cpuProfile()))
	}
	got, ok := s.Span(idOf(span))
	if !ok || !got.Complete || got.Service != "other" {
		t.Errorf("span %+v", got)
	}
	if report := <-reports; !strings.Contains(report, `"other"`) || !strings.Contains(report, `"checkout"`) {
		t.Errorf("report %q, want one that names both services", report)
	}
	if len(reports) != 0 {
		t.Errorf("a second report: %q", <-reports)
	}
}
