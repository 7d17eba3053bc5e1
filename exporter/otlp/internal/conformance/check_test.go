// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"strings"
	"testing"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	resourcepb "go.opentelemetry.io/proto/slim/otlp/resource/v1"

	"github.com/spanprof/spanprof/exporter/otlp/internal/conformance"
)

// good returns a message that refers to every table.
func good() *collectorpb.ExportProfilesServiceRequest {
	text := func(s string) *commonpb.AnyValue {
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: s}}
	}
	return &collectorpb.ExportProfilesServiceRequest{
		ResourceProfiles: []*profilespb.ResourceProfiles{{
			Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{{Key: "service.name", Value: text("shop")}}},
			ScopeProfiles: []*profilespb.ScopeProfiles{{
				Scope: &commonpb.InstrumentationScope{Name: "test"},
				Profiles: []*profilespb.Profile{{
					SampleType: &profilespb.ValueType{TypeStrindex: 1, UnitStrindex: 2},
					PeriodType: &profilespb.ValueType{TypeStrindex: 1, UnitStrindex: 2},
					Samples:    []*profilespb.Sample{{StackIndex: 1, LinkIndex: 1, AttributeIndices: []int32{1, 2}, Values: []int64{7}}},
				}},
			}},
		}},
		Dictionary: &profilespb.ProfilesDictionary{
			StringTable:    []string{"", "samples", "count", "main.work", "app", "key", "other"},
			AttributeTable: []*profilespb.KeyValueAndUnit{{}, {KeyStrindex: 5, Value: text("a")}, {KeyStrindex: 6, Value: text("b")}},
			FunctionTable:  []*profilespb.Function{{}, {NameStrindex: 3}},
			MappingTable:   []*profilespb.Mapping{{}, {FilenameStrindex: 4}},
			LocationTable:  []*profilespb.Location{{}, {MappingIndex: 1, Lines: []*profilespb.Line{{FunctionIndex: 1}}}},
			StackTable:     []*profilespb.Stack{{}, {LocationIndices: []int32{1}}},
			LinkTable:      []*profilespb.Link{{}, {TraceId: []byte("0123456789abcdef"), SpanId: []byte("01234567")}},
		},
	}
}

func TestCheck(t *testing.T) {
	if err := conformance.Check(good()); err != nil {
		t.Fatalf("a good message: %v", err)
	}
	type message = collectorpb.ExportProfilesServiceRequest
	profile := func(m *message) *profilespb.Profile { return m.ResourceProfiles[0].ScopeProfiles[0].Profiles[0] }
	for want, spoil := range map[string]func(*message){
		"no dictionary":                        func(m *message) { m.Dictionary = nil },
		"string_table[0]: not the zero value":  func(m *message) { m.Dictionary.StringTable[0] = "x" },
		"stack_table[0]: not the zero value":   func(m *message) { m.Dictionary.StackTable[0].LocationIndices = []int32{1, 1} },
		"link_table: empty":                    func(m *message) { m.Dictionary.LinkTable = nil },
		"string_table[7]: equals element 3":    func(m *message) { m.Dictionary.StringTable = append(m.Dictionary.StringTable, "main.work") },
		"string_table[7]: unused":              func(m *message) { m.Dictionary.StringTable = append(m.Dictionary.StringTable, "x") },
		"link_table[1]: unused":                func(m *message) { profile(m).Samples[0].LinkIndex = 0 },
		"sample 0: stack_table[9] of 2":        func(m *message) { profile(m).Samples[0].StackIndex = 9 },
		"sample 0: stack_table[-1] of 2":       func(m *message) { profile(m).Samples[0].StackIndex = -1 },
		"stack_table[1]: location_table[5] of": func(m *message) { m.Dictionary.StackTable[1].LocationIndices[0] = 5 },
		"stack_table[1]: location 0":           func(m *message) { m.Dictionary.StackTable[1].LocationIndices[0] = 0 },
		"location_table[1]: function_table[3]": func(m *message) { m.Dictionary.LocationTable[1].Lines[0].FunctionIndex = 3 },
		"location_table[1]: mapping_table[3]":  func(m *message) { m.Dictionary.LocationTable[1].MappingIndex = 3 },
		"function_table[1]: no name":           func(m *message) { m.Dictionary.FunctionTable[1].NameStrindex = 0 },
		"attribute_table[1]: no value":         func(m *message) { m.Dictionary.AttributeTable[1].Value = nil },
		"sample 0: two attributes have key 5":  func(m *message) { profile(m).Samples[0].AttributeIndices[1] = 1 },
		"sample 0: attribute 0":                func(m *message) { profile(m).Samples[0].AttributeIndices[0] = 0 },
		"profile 0: period_type: empty":        func(m *message) { profile(m).PeriodType = nil },
		"profile 0: sample_type: empty":        func(m *message) { profile(m).SampleType.TypeStrindex = 0 },
		"0 values and 0 timestamps":            func(m *message) { profile(m).Samples[0].Values = nil },
		"1 values and 2 timestamps":            func(m *message) { profile(m).Samples[0].TimestampsUnixNano = []uint64{1, 2} },
		"timestamps with and without values": func(m *message) {
			timed := func(values ...int64) *profilespb.Sample {
				return &profilespb.Sample{StackIndex: 1, Values: values, TimestampsUnixNano: []uint64{1, 2}}
			}
			profile(m).Samples = append(profile(m).Samples, timed(3, 4), timed())
		},
		"a timestamp is 9, the profile lasts from 10 to 20": func(m *message) {
			profile(m).TimeUnixNano, profile(m).DurationNano = 10, 10
			profile(m).Samples[0].TimestampsUnixNano = []uint64{9}
		},
		"a timestamp is 20, the profile lasts from 10 to 20": func(m *message) {
			profile(m).TimeUnixNano, profile(m).DurationNano = 10, 10
			profile(m).Samples[0].Values, profile(m).Samples[0].TimestampsUnixNano = nil, []uint64{10, 20}
		},
		"original_payload and its format":       func(m *message) { profile(m).OriginalPayload = []byte("x") },
		"profile_id of 3 bytes":                 func(m *message) { profile(m).ProfileId = []byte("abc") },
		"link_table[1]: ids ":                   func(m *message) { m.Dictionary.LinkTable[1].SpanId = []byte("short") },
		"want 16 and 8 bytes that are not zero": func(m *message) { m.Dictionary.LinkTable[1].SpanId = make([]byte, 8) },
		"resource 0: a key is an index":         func(m *message) { m.ResourceProfiles[0].Resource.Attributes[0].KeyStrindex = 1 },
		"resource 0: empty key":                 func(m *message) { m.ResourceProfiles[0].Resource.Attributes[0].Key = "" },
		"resource 0: service.name twice": func(m *message) {
			r := m.ResourceProfiles[0].Resource
			r.Attributes = append(r.Attributes, r.Attributes[0])
		},
		"scope without a name": func(m *message) { m.ResourceProfiles[0].ScopeProfiles[0].Scope.Name = "" },
		"invalid UTF-8":        func(m *message) { m.Dictionary.StringTable[3] = "\xff" },
	} {
		m := good()
		spoil(m)
		if err := conformance.Check(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestCheckTimestamps has a value for each timestamp, beside a sample without any.
func TestCheckTimestamps(t *testing.T) {
	m := good()
	p := m.ResourceProfiles[0].ScopeProfiles[0].Profiles[0]
	p.TimeUnixNano, p.DurationNano = 10, 10
	p.Samples = append(p.Samples, &profilespb.Sample{StackIndex: 1, Values: []int64{3, 4}, TimestampsUnixNano: []uint64{10, 19}})
	if err := conformance.Check(m); err != nil {
		t.Error(err)
	}
}

// TestCheckAgent has what eBPF agents send: timestamps without values, and a zero
// attribute as pdata writes it.
func TestCheckAgent(t *testing.T) {
	m := good()
	s := m.ResourceProfiles[0].ScopeProfiles[0].Profiles[0].Samples[0]
	s.Values, s.TimestampsUnixNano = nil, []uint64{1, 2, 3}
	m.Dictionary.AttributeTable[0].Value = &commonpb.AnyValue{}
	if err := conformance.Check(m); err != nil {
		t.Error(err)
	}
}
