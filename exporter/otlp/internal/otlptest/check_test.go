// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest_test

import (
	"strings"
	"testing"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"

	"github.com/spanprof/spanprof/exporter/otlp/internal/otlptest"
)

func TestCheck(t *testing.T) {
	type message = collectorpb.ExportProfilesServiceRequest
	good := func() (*message, *profilespb.Profile) {
		p := &profilespb.Profile{
			SampleType: &profilespb.ValueType{TypeStrindex: 1}, PeriodType: &profilespb.ValueType{TypeStrindex: 1},
			Samples: []*profilespb.Sample{{StackIndex: 1, LinkIndex: 1, AttributeIndices: []int32{1}, Values: []int64{7}}},
		}
		value := &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{}}
		return &message{
			ResourceProfiles: []*profilespb.ResourceProfiles{{ScopeProfiles: []*profilespb.ScopeProfiles{{
				Scope: &commonpb.InstrumentationScope{Name: "test", Attributes: []*commonpb.KeyValue{{Key: "a", Value: value}}}, Profiles: []*profilespb.Profile{p},
			}}}},
			Dictionary: &profilespb.ProfilesDictionary{
				StringTable:    []string{"", "samples"},
				AttributeTable: []*profilespb.KeyValueAndUnit{{}, {KeyStrindex: 1, Value: value}},
				FunctionTable:  []*profilespb.Function{{}, {NameStrindex: 1}},
				MappingTable:   []*profilespb.Mapping{{}, {FilenameStrindex: 1}},
				LocationTable:  []*profilespb.Location{{}, {MappingIndex: 1, Lines: []*profilespb.Line{{FunctionIndex: 1}}}},
				StackTable:     []*profilespb.Stack{{}, {LocationIndices: []int32{1}}},
				LinkTable:      []*profilespb.Link{{}, {TraceId: make([]byte, 16), SpanId: make([]byte, 8)}},
			},
		}, p
	}
	for want, spoil := range map[string]func(*message, *profilespb.Profile){
		"":                                    func(*message, *profilespb.Profile) {},
		"no dictionary":                       func(m *message, _ *profilespb.Profile) { m.Dictionary = nil },
		"string_table[0]: not the zero value": func(m *message, _ *profilespb.Profile) { m.Dictionary.StringTable[0] = "x" },
		"link_table[0]: not the zero value":   func(m *message, _ *profilespb.Profile) { m.Dictionary.LinkTable = nil },
		"string_table[2]: equals element 1":   func(m *message, _ *profilespb.Profile) { m.Dictionary.StringTable = []string{"", "samples", "samples"} },
		"link_table[1]: unused":               func(_ *message, p *profilespb.Profile) { p.Samples[0].LinkIndex = 0 },
		"stack_index: stack_table[9] of 2":    func(_ *message, p *profilespb.Profile) { p.Samples[0].StackIndex = 9 },
		"indices: location_table[-1] of":      func(m *message, _ *profilespb.Profile) { m.Dictionary.StackTable[1].LocationIndices[0] = -1 },
		"type_strindex: string_table[2] of 2": func(_ *message, p *profilespb.Profile) { p.SampleType.TypeStrindex = 2 },
		"profiles: bad":                       func(_ *message, p *profilespb.Profile) { p.PeriodType = nil },
		"samples: bad":                        func(_ *message, p *profilespb.Profile) { p.Samples[0].Values = nil },
		"link_table: bad":                     func(m *message, _ *profilespb.Profile) { m.Dictionary.LinkTable[1].SpanId = nil },
		"attribute_table: bad":                func(m *message, _ *profilespb.Profile) { m.Dictionary.AttributeTable[1].Value = nil },
		"scope: bad":                          func(m *message, _ *profilespb.Profile) { m.ResourceProfiles[0].ScopeProfiles[0].Scope.Name = "" },
		"scope.attributes: bad": func(m *message, _ *profilespb.Profile) {
			m.ResourceProfiles[0].ScopeProfiles[0].Scope.Attributes[0].KeyStrindex = 1
		},
		"invalid UTF-8": func(m *message, _ *profilespb.Profile) { m.Dictionary.StringTable[1] = "\xff" },
	} {
		m, p := good()
		spoil(m, p)
		if err := otlptest.Check(m); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
