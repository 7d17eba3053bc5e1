// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/store/internal/cputime"
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

	s.EvictOldest()
	check(
		test{"before all windows, held or not", -2, -1, want{true, store.CoverageNone}},
		test{"in what was evicted", 0.2, 0.4, want{true, store.CoverageEvicted}},
		test{"begins in what was evicted", 0.5, 1.5, want{true, store.CoverageEvicted}},
		test{"in the oldest held", 1.1, 1.5, want{true, store.CoverageWhole}},
		test{"in the gap after it", 2.2, 2.3, want{true, store.CoverageNone}},
	)
	s.EvictOldest()
	s.EvictOldest() // Heap: no CPU goes with it.
	check(
		test{"in the gap between what was evicted and what is held", 2.2, 2.3, want{true, store.CoverageNone}},
		test{"in the first one after it", 4, 4.5, want{true, store.CoverageWhole}},
	)
	for s.Look().Windows > 0 {
		s.EvictOldest()
	}
	check(
		test{"in the last one, evicted", 5.2, 5.4, want{true, store.CoverageEvicted}},
		test{"not yet, with nothing held", 7, 8, want{false, store.CoverageWhole}},
	)

	// A list says the same as a look at one span.
	for _, listed := range s.Spans(store.SpanQuery{}) {
		if got, _ := s.Span(listed.ProfileID); !cmp.Equal(listed, got) {
			t.Error(cmp.Diff(listed, got))
		}
	}
}

// Windows that went take nothing from spans that had no samples in them, or whose
// samples are kept.
func TestCoverageWithoutLoss(t *testing.T) {
	s := newStore(t, store.WithSpansPerName(1))
	tracer := newTracerProvider(s).Tracer("")
	span := func(name string, from, until float64) string {
		_, span := tracer.Start(t.Context(), name, at(from))
		span.End(at(until))
		return idOf(span)
	}
	ofSpan := func(id string, count int64) sample { return sample{"f", count, labels("span_id", id)} }
	kept, idle, over := span("kept", 0, 0.9), span("idle", 0, 0.5), span("over", 0.8, 1.3)
	// Of two spans the one whose samples come first, by the id, is an example.
	example, lost := span("kept", 0, 0.3), span("kept", 0, 0.3)
	if lost < example {
		example, lost = lost, example
	}
	_, running := tracer.Start(t.Context(), "running", at(0.1))
	check := func(when string, want map[string]store.Coverage) {
		t.Helper()
		for id, coverage := range want {
			if got, ok := s.Span(id); !ok || got.Coverage != coverage {
				t.Errorf("%s: %s: coverage %s, %d samples of %d, want %s", when, got.Name, got.Coverage, got.SamplesHeld, got.CPUSamples, coverage)
			}
		}
	}
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(ofSpan(kept, 2), ofSpan(example, 1), ofSpan(lost, 1))), inWindow(1, exporter.KindCPU, cpuProfile(ofSpan(over, 1))))
	running.End(at(2))
	s.EvictOldest()
	check("one window went", map[string]store.Coverage{
		kept: store.CoverageWhole, example: store.CoverageWhole, idle: store.CoverageWhole, over: store.CoverageWhole, idOf(running): store.CoverageWhole,
		lost:                    store.CoverageEvicted,
		span("late", 0.1, 0.2):  store.CoverageEvicted,
		span("later", 1.1, 1.2): store.CoverageWhole,
	})
	// What is kept goes at last.
	s.EvictKept()
	check("what was kept went", map[string]store.Coverage{kept: store.CoverageEvicted, idle: store.CoverageWhole})

	// What was no profile stays none when the profiles around it go.
	unprofiled := span("unprofiled", 2.4, 2.6)
	export(t, s, cpuWindow("checkout", 3, 4))
	s.EvictOldest()
	s.EvictOldest()
	check("a gap", map[string]store.Coverage{unprofiled: store.CoverageNone, over: store.CoverageWhole})
}

// Spans of a service without windows go by those of the service that has the
// latest one; spans of others by their own.
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

func TestCoverageIsBounded(t *testing.T) {
	s := newStore(t)
	before := s.Look().Index
	for i := range 3 * cputime.MaxPeriods {
		export(t, s, cpuWindow("checkout", float64(2*i), float64(2*i+1)))
	}
	for i := range 2 * 256 {
		export(t, s, cpuWindow(fmt.Sprint("service ", i), float64(i), float64(i+1)))
	}
	if n := s.Look().Services; n != 256 {
		t.Error("services:", n)
	}
	for s.Look().Windows > 0 {
		s.EvictOldest()
	}
	// The services whose windows ended first were gone before.
	if services := s.ForgetServices(); slices.Contains(services, "service 0") || !slices.Contains(services, "checkout") {
		t.Error("the wrong services were forgotten")
	}
	if s.Look().Index != before {
		t.Errorf("bytes in the index: %d, want %d", s.Look().Index, before)
	}
}

func TestCoverageNames(t *testing.T) {
	if names := []string{store.CoverageWhole.String(), store.CoveragePartial.String(), store.CoverageNone.String(), store.CoverageEvicted.String()}; !slices.Equal(names, []string{"whole", "partial", "none", "evicted"}) {
		t.Error(names)
	}
}
