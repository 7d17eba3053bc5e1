// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/report"
)

// If a program omits the profiler's resource, its spans are joined and completed. It gets
// one report.
func TestServicesDiffer(t *testing.T) {
	var reports []string
	t.Cleanup(report.Synchronous(func(err error) { reports = append(reports, err.Error()) }))

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
	if len(reports) != 1 || !strings.Contains(reports[0], `"other"`) || !strings.Contains(reports[0], `"checkout"`) {
		t.Errorf("reports %q, want one that names both services", reports)
	}
}
