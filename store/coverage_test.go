// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

func TestCoverage(t *testing.T) {
	s := newStore(t)
	tracer := newTracerProvider(s).Tracer("")
	// The first two windows are 200 ms apart, which a rotation takes. What
	// comes then took some other CPU profile two windows' time.
	export(t, s,
		cpuWindow("checkout", 0, 1), cpuWindow("checkout", 1.02, 2),
		inWindow(3, exporter.KindHeap, cpuProfile()),
		cpuWindow("checkout", 4, 5), cpuWindow("checkout", 5, 6),
	)
	type want struct {
		complete bool
		coverage store.Coverage
	}
	type test struct {
		name        string
		from, until float64
		want        want
	}
	check := func(tests ...test) {
		t.Helper()
		for _, test := range tests {
			_, span := tracer.Start(t.Context(), test.name, at(test.from))
			span.End(at(test.until))
			got, ok := s.Span(idOf(span))
			if !ok || (want{got.Complete, got.Coverage}) != test.want {
				t.Errorf("%s: complete %t, coverage %s, want %+v", test.name, got.Complete, got.Coverage, test.want)
			}
		}
	}
	check(
		test{"before all windows", -2, -1, want{true, store.CoverageNone}},
		test{"begins before", -1, 0.5, want{true, store.CoveragePartial}},
		test{"in one window", 0.2, 0.4, want{true, store.CoverageWhole}},
		test{"over a rotation", 0.5, 1.5, want{true, store.CoverageWhole}},
		test{"into the gap", 1.5, 2.01, want{true, store.CoveragePartial}},
		test{"in the gap", 2.2, 2.3, want{true, store.CoverageNone}},
		test{"no time, in the gap", 3, 3, want{true, store.CoverageNone}},
		test{"over the gap", 1, 5, want{true, store.CoveragePartial}},
		test{"after the gap", 4, 6, want{true, store.CoverageWhole}},
		test{"no time, at the end", 6, 6, want{true, store.CoverageWhole}},
		test{"not to its end yet", 5.5, 6.5, want{false, store.CoverageWhole}},
		test{"over the gap, not to its end yet", 3, 7, want{false, store.CoveragePartial}},
		test{"not yet", 7, 8, want{false, store.CoverageWhole}},
	)

	// A list agrees with a query for one span.
	for _, listed := range s.Spans(store.SpanQuery{}) {
		if got, _ := s.Span(listed.ProfileID); !cmp.Equal(listed, got) {
			t.Error(cmp.Diff(listed, got))
		}
	}
}

// Spans of a service without windows have the coverage of the service with the latest
// window.
func TestCoverageOfServices(t *testing.T) {
	s := newStore(t)
	export(t, s, cpuWindow("other", 0, 3), cpuWindow("gone", 0, 1))
	_, span := newTracerProvider(s).Tracer("").Start(t.Context(), "GET /", at(1))
	span.End(at(2))
	if got, _ := s.Span(idOf(span)); !got.Complete || got.Coverage != store.CoverageWhole {
		t.Errorf("by another service: %+v", got)
	}
	export(t, s, cpuWindow("checkout", 4, 5))
	if got, _ := s.Span(idOf(span)); !got.Complete || got.Coverage != store.CoverageNone {
		t.Errorf("by its own: %+v", got)
	}
}

func TestCoverageNames(t *testing.T) {
	if names := []string{store.CoverageWhole.String(), store.CoveragePartial.String(), store.CoverageNone.String(), store.CoverageEvicted.String()}; !slices.Equal(names, []string{"whole", "partial", "none", "evicted"}) {
		t.Error(names)
	}
}
