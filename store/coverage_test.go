// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// cpuWindow is a window without samples that lasts from one moment of the test
// to another, in windows.
func cpuWindow(service string, from, until float64) *exporter.Profile {
	return exporter.NewParsedProfile(exporter.Window{
		Kind:     exporter.KindCPU,
		Start:    epoch.Add(time.Duration(from * float64(step))),
		Duration: time.Duration((until - from) * float64(step)),
		Resource: resource.NewSchemaless(attribute.String("service.name", service)),
	}, cpuProfile())
}

// Spans of a service without windows have the coverage of the service with the latest
// window.
func TestCoverageOfServices(t *testing.T) {
	s := newStore(t)
	export(t, s, cpuWindow("other", 0, 3), cpuWindow("gone", 0, 1))
	tracer := newTracerProvider(s).Tracer("")
	_, span := tracer.Start(t.Context(), "GET /", at(1))
	span.End(at(3))
	_, short := tracer.Start(t.Context(), "without a duration", at(3.5))
	short.End(at(3.5))
	if got, _ := s.Span(idOf(span)); !got.Complete || got.Coverage != store.CoverageWhole {
		t.Errorf("by another service: %+v", got)
	}
	export(t, s, cpuWindow("checkout", 4, 5))
	for _, span := range s.Spans(store.SpanQuery{}) {
		if !span.Complete || span.Coverage != store.CoverageNone {
			t.Errorf("by its own: %+v", span)
		}
	}
}
