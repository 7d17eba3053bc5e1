// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlptest has a profile for the tests of both exporters.
package otlptest

import (
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
)

// Profile returns a CPU profile that ends now, with a number of samples.
func Profile(number int64) *exporter.Profile {
	f := &profile.Function{ID: 1, Name: "main.work", SystemName: "main.work", Filename: "main.go", StartLine: 3}
	l := &profile.Location{ID: 1, Address: 0x1000, Line: []profile.Line{{Function: f, Line: 7}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     1e7,
		Function:   []*profile.Function{f},
		Location:   []*profile.Location{l},
		Sample: []*profile.Sample{{
			Location: []*profile.Location{l},
			Value:    []int64{number, number * 1e7},
			Label: map[string][]string{
				"trace_id":   {"0123456789abcdef0123456789abcdef"},
				"span_id":    {"0123456789abcdef"},
				"profile_id": {"0123456789abcdef"},
				"span_name":  {"GET /"},
			},
		}},
	}
	return exporter.NewParsedProfile(exporter.Window{
		Kind:     exporter.KindCPU,
		Start:    time.Now().Add(-time.Second),
		Duration: time.Second,
		Resource: resource.NewSchemaless(attribute.String("service.name", "shop")),
	}, p)
}
