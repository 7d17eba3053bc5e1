// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package meter_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/meter"
	"github.com/spanprof/spanprof/internal/metertest"
)

// newMeter returns an exporter, and the seconds of its series.
func newMeter(t *testing.T, labels ...string) (exporter.Exporter, func() map[string]float64) {
	t.Helper()
	sums := metertest.New(t)
	m, err := meter.New(labels...)
	if err != nil {
		t.Fatal(err)
	}
	return m, func() map[string]float64 { return sums.Of("spanprof.cpu.time") }
}

func profileOf(kind exporter.Kind, samples ...*profile.Sample) *exporter.Profile {
	w := exporter.Window{Kind: kind, Resource: resource.NewSchemaless(attribute.String("service.name", "shop"))}
	return exporter.NewParsedProfile(w, &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Sample:     samples,
	})
}

func sample(count int64, labels ...string) *profile.Sample {
	s := &profile.Sample{Value: []int64{count, count * 10_000_000}, Label: map[string][]string{}}
	for i := 0; i < len(labels); i += 2 {
		s.Label[labels[i]] = []string{labels[i+1]}
	}
	return s
}

// All CPU time is counted once, by name and tenant, also the time of no span.
func TestSums(t *testing.T) {
	m, sums := newMeter(t, "tenant")
	for range 2 {
		err := m.Export(t.Context(), profileOf(exporter.KindCPU,
			sample(100, "span_name", "GET /", "tenant", "a", "span_id", "0123456789abcdef"),
			sample(50, "span_name", "GET /", "tenant", "a", "span_id", "fedcba9876543210"),
			sample(25, "span_name", "GET /"),
			sample(200, "span_name", "GET /", "tenant", strings.Repeat("x", 129)),
			sample(100, "span_name", "GET /", "tenant", "not UTF-8: \xff"),
			sample(10)))
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Export(t.Context(), profileOf(exporter.KindWall, sample(1000, "span_name", "GET /"))); err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"service.name=shop,span_name=GET /,tenant=a":     3,
		"service.name=shop,span_name=GET /":              0.5,
		"service.name=shop,span_name=GET /,tenant=other": 6,
		"service.name=shop":                              0.2,
	}
	if diff := cmp.Diff(want, sums()); diff != "" {
		t.Error(diff)
	}
}

// 10,000 tenants make a bounded number of series, and so do names: as many as the SDK takes. No
// time is lost.
func TestManySeries(t *testing.T) {
	for _, test := range []struct {
		name  string // of spans
		count int
		other string // the series of all others
		time  float64
	}{
		{"GET /", 1701, "service.name=shop,span_name=GET /,tenant=other", 83},
		{"GET /%d", 1999, "service.name=shop,span_name=other,tenant=other", 80.02},
	} {
		m, all := newMeter(t, "tenant")
		total := 0.0
		for i := range 10_000 {
			name := strings.ReplaceAll(test.name, "%d", fmt.Sprint(i))
			if err := m.Export(t.Context(), profileOf(exporter.KindCPU, sample(1, "span_name", name, "tenant", fmt.Sprint(i)))); err != nil {
				t.Fatal(err)
			}
		}
		sums := all()
		for _, seconds := range sums {
			total += seconds
		}
		if got := sums[test.other]; len(sums) != test.count || math.Abs(total-100) > 0.01 || math.Abs(got-test.time) > 0.01 {
			t.Errorf("%s: got %d series of %.2f s, others %.2f s, want %d of 100 s and %.2f s", test.name, len(sums), total, got, test.count, test.time)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, labels := range [][]string{{"a", "b", "c"}, {"span_id"}, {"trace_id"}, {"span_name"}, {""}} {
		if _, err := meter.New(labels...); err == nil {
			t.Errorf("labels %q: got no error", labels)
		}
	}
	m, _ := newMeter(t)
	if err := m.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := m.Export(t.Context(), profileOf(exporter.KindCPU, sample(1))); !errors.Is(err, exporter.ErrShutdown) {
		t.Errorf("after Shutdown: got %v", err)
	}
}
