// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package integration

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp"
	"github.com/spanprof/spanprof/exporter/otlp/otlpgrpc"
)

// timedSamples is how many samples the profiles of exportTimed have.
const timedSamples = 12

// exportTimed sends one profile with the times of its samples, and once more without.
func exportTimed(t *testing.T, target string) {
	t.Helper()
	start := time.Now().Add(-10 * time.Second)
	for service, opts := range map[string][]otlp.Option{"timed": {otlp.WithSampleTimestamps()}, "untimed": nil} {
		f := &profile.Function{ID: 1, Name: "main.work"}
		p := &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
			PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
			Period:     1e7,
			Function:   []*profile.Function{f},
		}
		var times [][]int64
		for i, n := range []int64{timedSamples - 5, 5} {
			l := &profile.Location{ID: uint64(i + 1), Address: uint64(i + 1), Line: []profile.Line{{Function: f}}}
			p.Location = append(p.Location, l)
			p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{n, n * 1e7}})
			var of []int64
			for k := range n {
				of = append(of, start.UnixNano()+k)
			}
			times = append(times, of)
		}
		exp, err := otlpgrpc.New(append(opts, otlp.WithEndpointURL("http://"+target))...)
		if err != nil {
			t.Fatal(err)
		}
		res := resource.NewSchemaless(attribute.String("service.name", service))
		if err := exp.Export(t.Context(), exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: start, Duration: 10 * time.Second, Resource: res}, p, times...)); err != nil {
			t.Error(err)
		}
		if err := exp.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if s := exp.Status(); s.Exported != 1 {
			t.Errorf("%s: %+v, want one exported", service, s)
		}
	}
}

// checkTimed compares the sums of both, as the Collector has passed them on.
func checkTimed(t *testing.T, records []record) {
	t.Helper()
	sums, stamps := map[string]int64{}, map[string]int{}
	for _, r := range records {
		for _, rp := range r.ResourceProfiles {
			service := r.Dictionary.text(rp.Resource.Attributes, "service.name")
			for _, sp := range rp.ScopeProfiles {
				for _, p := range sp.Profiles {
					for _, s := range p.Samples {
						stamps[service] += len(s.TimestampsUnixNano)
						if len(s.Values) == 0 {
							sums[service] += int64(len(s.TimestampsUnixNano))
						}
						for _, v := range s.Values {
							n, err := strconv.ParseInt(v.String(), 10, 64)
							if err != nil {
								t.Error(err)
							}
							sums[service] += n
						}
					}
				}
			}
		}
	}
	if sums["timed"] != timedSamples || sums["untimed"] != timedSamples || stamps["timed"] != timedSamples || stamps["untimed"] != 0 {
		t.Errorf("sums %v with timestamps %v, want %d each, and as many timestamps in one", sums, stamps, timedSamples)
	}
}
