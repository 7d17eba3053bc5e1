// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"

	"github.com/spanprof/spanprof/ebpfbridge/internal/decode"
)

// nested returns n elements of element in an array in an array.
func nested(n int, element *commonpb.AnyValue) *commonpb.AnyValue {
	array := func(values ...*commonpb.AnyValue) *commonpb.AnyValue {
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: &commonpb.ArrayValue{Values: values}}}
	}
	return array(array(slices.Repeat([]*commonpb.AnyValue{element}, n)...))
}

// A message cannot make its reader write much more text than it has itself.
func TestTextOfNestedValuesIsBounded(t *testing.T) {
	text := &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValueStrindex{StringValueStrindex: 8}}
	for name, spoil := range map[string]func(*collectorpb.ExportProfilesServiceRequest){
		"one label": func(m *collectorpb.ExportProfilesServiceRequest) {
			m.Dictionary.AttributeTable[1].Value = nested(100, text)
		},
		"one label of empty elements": func(m *collectorpb.ExportProfilesServiceRequest) {
			m.Dictionary.AttributeTable[1].Value = nested(100_000, &commonpb.AnyValue{})
		},
		"many labels": func(m *collectorpb.ExportProfilesServiceRequest) {
			sample := m.ResourceProfiles[0].ScopeProfiles[0].Profiles[0].Samples[0]
			for range 5000 {
				tables := m.Dictionary
				tables.StringTable = append(tables.StringTable, fmt.Sprint("key", len(tables.StringTable)))
				sample.AttributeIndices = append(sample.AttributeIndices, int32(len(tables.AttributeTable)))
				tables.AttributeTable = append(tables.AttributeTable, &profilespb.KeyValueAndUnit{
					KeyStrindex: int32(len(tables.StringTable) - 1), Value: nested(1, text),
				})
			}
		},
	} {
		m := agentMessage()
		m.Dictionary.StringTable[8] = strings.Repeat("x", 1000)
		spoil(m)
		if _, err := decode.Profiles(m, maxMemory); err == nil || !strings.Contains(err.Error(), "of nested values") {
			t.Errorf("%s: %v, want an error", name, err)
		}
	}

	// Long text that is not nested costs nothing: samples share it.
	m := agentMessage()
	m.Dictionary.StringTable[8] = strings.Repeat("x", 1<<20)
	if _, p := decoded(t, m); len(p.Sample[0].Label["thread.name"][0]) != 1<<20 {
		t.Error("long text is not as it was")
	}
}

// A Collector may move keys and texts into the string table.
func TestNumberWithUnitInStringTable(t *testing.T) {
	m := agentMessage()
	tables := m.Dictionary
	tables.StringTable = append(tables.StringTable, "unit", "value", "kilobytes")
	number := func(n int64) *commonpb.AnyValue {
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: n}}
	}
	withUnit := &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{KvlistValue: &commonpb.KeyValueList{Values: []*commonpb.KeyValue{
		{KeyStrindex: 14, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValueStrindex{StringValueStrindex: 16}}},
		{KeyStrindex: 15, Value: number(8)},
	}}}}
	tables.AttributeTable[2].Value = &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{
		ArrayValue: &commonpb.ArrayValue{Values: []*commonpb.AnyValue{number(7), withUnit}},
	}}
	_, p := decoded(t, m)
	s := p.Sample[0]
	if diff := cmp.Diff([]int64{7, 8}, s.NumLabel["size"]); diff != "" {
		t.Errorf("numbers: %s", diff)
	}
	if diff := cmp.Diff([]string{"bytes", "kilobytes"}, s.NumUnit["size"]); diff != "" {
		t.Errorf("units: %s", diff)
	}

	withUnit.GetKvlistValue().Values[0].KeyStrindex = 99
	if _, err := decode.Profiles(m, maxMemory); err == nil || !strings.Contains(err.Error(), "string_table[99]") {
		t.Errorf("Profiles: %v, want an error", err)
	}
}
