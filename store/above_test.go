// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// A span has the CPU time of all spans below it, and the nearest span above it in the list.
func TestAbove(t *testing.T) {
	s := newStore(t)
	tracer := newTracerProvider(s).Tracer("")
	ctx := t.Context()
	var ids []string
	var ends []func()
	for i, name := range []string{"request", "walk", "other", "walk"} {
		c, span := tracer.Start(ctx, name, at(0))
		ctx = c
		id := idOf(span)
		span.SetAttributes(attribute.String("pyroscope.profile.id", id))
		ids = append(ids, id)
		ends = append(ends, func() { span.End(at(float64(8 - i))) })
	}
	for _, end := range slices.Backward(ends) {
		end()
	}
	var samples []sample
	for i, id := range ids {
		samples = append(samples, sample{"f", []int64{1, 10, 100, 1000}[i], labels("span_id", id, "profile_id", id, "span_name", "n")})
	}
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(samples...)))
	for _, test := range []struct {
		q     store.SpanQuery
		above []string
	}{
		{store.SpanQuery{}, []string{"", ids[0], ids[1], ids[2]}},
		{store.SpanQuery{Name: "walk"}, []string{1: "", 3: ids[1]}},
	} {
		for _, span := range s.Spans(test.q) {
			i := slices.Index(ids, span.ProfileID)
			want := []time.Duration{1111, 1110, 1100, 1000}[i] * tick
			if span.Above != test.above[i] || span.CPUInclusive != want {
				t.Errorf("%s is below %q with %v, want %q with %v", span.Name, span.Above, span.CPUInclusive, test.above[i], want)
			}
		}
	}
}

// Sums by label are what their matchers select.
func TestSumsByLabel(t *testing.T) {
	s := newStore(t)
	fillWindows(t, s)
	cpu := store.Query{Kind: exporter.KindCPU, SampleType: "cpu", Labels: []string{"service_name", "span_name"}}
	all, err := s.Samples(cpu)
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for _, sum := range all.Sums {
		total += sum.Value
		selected := selectCPU(t, s, matcher(t, "service_name", store.MatchEqual, sum.Labels[0]), matcher(t, "span_name", store.MatchEqual, sum.Labels[1]))
		if selected.Total != sum.Value || selected.Samples != sum.Samples {
			t.Errorf("%q: %d, want %d", sum.Labels, sum.Value, selected.Total)
		}
	}
	if all.Total != total || selectCPU(t, s).Total != total {
		t.Errorf("the labels have %d together, want %d", total, all.Total)
	}
}
