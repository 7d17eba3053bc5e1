// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
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
		coverage Coverage
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
		test{"before all windows", -2, -1, want{true, CoverageNone}},
		test{"begins before", -1, 0.5, want{true, CoveragePartial}},
		test{"in one window", 0.2, 0.4, want{true, CoverageWhole}},
		test{"over a rotation", 0.5, 1.5, want{true, CoverageWhole}},
		test{"into the gap", 1.5, 2.01, want{true, CoveragePartial}},
		test{"in the gap", 2.2, 2.3, want{true, CoverageNone}},
		test{"no time, in the gap", 3, 3, want{true, CoverageNone}},
		test{"over the gap", 1, 5, want{true, CoveragePartial}},
		test{"after the gap", 4, 6, want{true, CoverageWhole}},
		test{"no time, at the end", 6, 6, want{true, CoverageWhole}},
		test{"not to its end yet", 5.5, 6.5, want{false, CoverageWhole}},
		test{"over the gap, not to its end yet", 3, 7, want{false, CoveragePartial}},
		test{"not yet", 7, 8, want{false, CoverageWhole}},
	)

	s.evictOldest()
	check(
		test{"before all windows, held or not", -2, -1, want{true, CoverageNone}},
		test{"in what was evicted", 0.2, 0.4, want{true, CoverageEvicted}},
		test{"begins in what was evicted", 0.5, 1.5, want{true, CoverageEvicted}},
		test{"in the oldest held", 1.1, 1.5, want{true, CoverageWhole}},
		test{"in the gap after it", 2.2, 2.3, want{true, CoverageNone}},
	)
	s.evictOldest()
	s.evictOldest() // Heap: no CPU goes with it.
	check(
		test{"in the gap between what was evicted and what is held", 2.2, 2.3, want{true, CoverageNone}},
		test{"in the first one after it", 4, 4.5, want{true, CoverageWhole}},
	)
	for len(s.index.windows) > 0 {
		s.evictOldest()
	}
	check(
		test{"in the last one, evicted", 5.2, 5.4, want{true, CoverageEvicted}},
		test{"not yet, with nothing held", 7, 8, want{false, CoverageWhole}},
	)

	// A list says the same as a look at one span.
	for _, listed := range s.Spans(SpanQuery{}) {
		if got, _ := s.Span(listed.ProfileID); !cmp.Equal(listed, got) {
			t.Error(cmp.Diff(listed, got))
		}
	}
}

// Windows that went take nothing from spans that had no samples in them, or whose
// samples are kept.
func TestCoverageWithoutLoss(t *testing.T) {
	s := newStore(t, WithSpansPerName(1))
	tracer := newTracerProvider(s).Tracer("")
	span := func(name string, from, until float64) string {
		_, span := tracer.Start(t.Context(), name, at(from))
		span.End(at(until))
		return idOf(span)
	}
	ofSpan := func(id string, count int64) sample { return sample{"f", count, labels("span_id", id)} }
	kept, idle, over := span("kept", 0, 0.9), span("idle", 0, 0.5), span("over", 0.8, 1.3)
	lost := span("kept", 0, 0.8)
	_, running := tracer.Start(t.Context(), "running", at(0.1))
	check := func(when string, want map[string]Coverage) {
		t.Helper()
		for id, coverage := range want {
			if got, ok := s.Span(id); !ok || got.Coverage != coverage {
				t.Errorf("%s: %s: coverage %s, %d samples of %d, want %s", when, got.Name, got.Coverage, got.SamplesHeld, got.CPUSamples, coverage)
			}
		}
	}
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(ofSpan(kept, 2), ofSpan(lost, 1))), inWindow(1, exporter.KindCPU, cpuProfile(ofSpan(over, 1))))
	running.End(at(2))
	s.evictOldest()
	check("one window went", map[string]Coverage{
		kept: CoverageWhole, idle: CoverageWhole, over: CoverageWhole, idOf(running): CoverageWhole,
		lost:                    CoverageEvicted,
		span("late", 0.1, 0.2):  CoverageEvicted,
		span("later", 1.1, 1.2): CoverageWhole,
	})
	// What is kept goes at last.
	s.evictKept()
	check("what was kept went", map[string]Coverage{kept: CoverageEvicted, idle: CoverageWhole})

	// What was no profile stays none when the profiles around it go.
	unprofiled := span("unprofiled", 2.4, 2.6)
	export(t, s, cpuWindow("checkout", 3, 4))
	s.evictOldest()
	s.evictOldest()
	check("a gap", map[string]Coverage{unprofiled: CoverageNone, over: CoverageWhole})
}

// Spans of a service without windows go by those of the service that has the
// latest one; spans of others by their own.
func TestCoverageOfServices(t *testing.T) {
	s := newStore(t)
	export(t, s, cpuWindow("other", 0, 3), cpuWindow("gone", 0, 1))
	_, span := newTracerProvider(s).Tracer("").Start(t.Context(), "GET /", at(1))
	span.End(at(2))
	if got, _ := s.Span(idOf(span)); !got.Complete || got.Coverage != CoverageWhole {
		t.Errorf("by another service: %+v", got)
	}
	export(t, s, cpuWindow("checkout", 4, 5))
	if got, _ := s.Span(idOf(span)); !got.Complete || got.Coverage != CoverageNone {
		t.Errorf("by its own: %+v", got)
	}
}

func TestCoverageIsBounded(t *testing.T) {
	s := newStore(t)
	before := s.index.bytes
	for i := range 3 * maxPeriods {
		export(t, s, cpuWindow("checkout", float64(2*i), float64(2*i+1)))
	}
	for i := range 2 * maxServices {
		export(t, s, cpuWindow(fmt.Sprint("service ", i), float64(i), float64(i+1)))
	}
	if n := len(s.index.times); n != maxServices {
		t.Error("services:", n)
	}
	// The services whose windows ended first are gone.
	if s.index.times["service 0"] != nil || s.index.times["checkout"] == nil {
		t.Error("the wrong services were forgotten")
	}
	times := s.index.times["checkout"]
	if n := len(times.profiled); n != maxPeriods {
		t.Error("periods:", n)
	}
	at := func(windows float64) int64 { return epoch.Add(time.Duration(windows * float64(step))).UnixNano() }
	// The oldest gaps went as profiles go; the newest are known.
	if got := times.coverage(at(1.2), at(1.4), false); got != CoverageEvicted {
		t.Error("in the oldest gap:", got)
	}
	if got := times.coverage(at(6*maxPeriods-2.8), at(6*maxPeriods-2.6), true); got != CoverageNone {
		t.Error("in the newest gap:", got)
	}
	for len(s.index.windows) > 0 {
		s.evictOldest()
	}
	if n := len(s.index.times["checkout"].evicted); n > maxPeriods {
		t.Error("evicted periods:", n)
	}
	for len(s.index.times) > 0 {
		s.index.setTimes(s.index.stalest(), nil)
	}
	if s.index.bytes != before {
		t.Errorf("bytes in the index: %d, want %d", s.index.bytes, before)
	}
}

// TestPeriods holds periods against a list of milliseconds.
func TestPeriods(t *testing.T) {
	const length, ms = 4000, int64(time.Millisecond)
	random := newGenerator().rand
	for range 200 {
		var p periods
		covered := make([]bool, length)
		for range 1 + random.IntN(12) {
			start := random.Int64N(length)
			end := min(length, start+random.Int64N(400))
			p = p.add(start*ms, end*ms)
			for i := start; i < end; i++ {
				covered[i] = true
			}
		}
		for i := 1; i < len(p); i++ {
			if p[i].start-p[i-1].end <= maxRotation {
				t.Fatalf("%v: no gap before the %d. period", p, i)
			}
		}
		// What lies between two near periods is no gap.
		last := -1
		for i, is := range covered {
			if is && last >= 0 && int64(i-last-1)*ms <= maxRotation {
				for j := last; j < i; j++ {
					covered[j] = true
				}
			}
			if is {
				last = i
			}
		}
		start := random.Int64N(length)
		end := start + random.Int64N(length-start)
		var want int64
		for _, is := range covered[start:end] {
			if is {
				want += ms
			}
		}
		if got := p.overlap(start*ms, end*ms); got != want {
			t.Fatalf("%v overlaps [%d, %d) ms by %d, want %d", p, start, end, got, want)
		}
	}
	if p := (periods{}).add(1, 1).add(2, 1); len(p) != 0 {
		t.Error("periods of no time:", p)
	}
	if names := []string{CoverageWhole.String(), CoveragePartial.String(), CoverageNone.String(), CoverageEvicted.String()}; !slices.Equal(names, []string{"whole", "partial", "none", "evicted"}) {
		t.Error(names)
	}
}
