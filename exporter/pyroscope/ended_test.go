// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"

	"github.com/spanprof/spanprof/exporter"
)

// TestEndedSpanID has samples of goroutines that outlived different spans: none makes a
// series, and all of them are sent.
func TestEndedSpanID(t *testing.T) {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		TimeNanos:  time.Now().UnixNano(),
	}
	var times [][]int64
	for i := range 40 {
		labels := map[string][]string{"ended_span_id": {fmt.Sprintf("%016x", i+1)}, "tenant": {"a"}}
		if i == 0 {
			labels["span_id"] = []string{"00000000000000aa"}
		}
		p.Sample = append(p.Sample, &profile.Sample{Value: []int64{1e7}, Label: labels})
		times = append(times, []int64{p.TimeNanos})
	}
	s := &ingest{}
	stats := s.export(t, nil, exporter.NewParsedProfile(now(attribute.String("service.name", "shop")), p, times...))
	if stats.Exported != 1 || len(s.rows) != 1 {
		t.Fatalf("exported %d, which are %d series, want one", stats.Exported, len(s.rows))
	}
	var sum int64
	for row, profiles := range s.rows {
		for _, p := range profiles {
			for _, sample := range p.Sample {
				sum += sample.Value[0]
				if _, ok := sample.Label["ended_span_id"]; ok {
					t.Errorf("%s: the label is sent", row.series)
				}
			}
		}
	}
	if want := int64(40 * 1e7); sum != want {
		t.Errorf("the sum is %d, want %d", sum, want)
	}
	// What others see is not changed.
	if p.Sample[7].Label["ended_span_id"] == nil {
		t.Error("the profile that was given is changed")
	}
}
