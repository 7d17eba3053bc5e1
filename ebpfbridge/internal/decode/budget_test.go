// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"slices"
	"strings"
	"testing"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"

	"github.com/spanprof/spanprof/ebpfbridge/internal/decode"
)

// What samples and profiles share in a small message they do not share in pprof.
func TestCostIsBounded(t *testing.T) {
	array := func(element *commonpb.AnyValue) *commonpb.AnyValue {
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: &commonpb.ArrayValue{Values: slices.Repeat([]*commonpb.AnyValue{element}, 2000)}}}
	}
	text := &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValueStrindex{StringValueStrindex: 8}}
	number := &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: 1}}
	for name, spoil := range map[string]func(m *collectorpb.ExportProfilesServiceRequest){
		"texts": func(m *collectorpb.ExportProfilesServiceRequest) {
			m.Dictionary.AttributeTable[1].Value = array(text)
			repeatSample(m, 5000)
		},
		"numbers": func(m *collectorpb.ExportProfilesServiceRequest) {
			m.Dictionary.AttributeTable[1].Value = array(number)
			repeatSample(m, 5000)
		},
		"frames": func(m *collectorpb.ExportProfilesServiceRequest) {
			m.Dictionary.StackTable[1].LocationIndices = slices.Repeat([]int32{1}, 4000)
			repeatSample(m, 5000)
		},
		"lines in each profile": func(m *collectorpb.ExportProfilesServiceRequest) {
			l := m.Dictionary.LocationTable[1]
			l.Lines = slices.Repeat(l.Lines[:1], 2000)
			repeatProfile(m, 5000)
		},
		"locations in each profile": func(m *collectorpb.ExportProfilesServiceRequest) {
			d := m.Dictionary
			for range 300 {
				d.StackTable[1].LocationIndices = append(d.StackTable[1].LocationIndices, int32(len(d.LocationTable)))
				d.LocationTable = append(d.LocationTable, &profilespb.Location{})
			}
			repeatProfile(m, 5000)
		},
		"functions in each profile": func(m *collectorpb.ExportProfilesServiceRequest) {
			d := m.Dictionary
			for range 300 {
				d.LocationTable[1].Lines = append(d.LocationTable[1].Lines, &profilespb.Line{FunctionIndex: int32(len(d.FunctionTable))})
				d.FunctionTable = append(d.FunctionTable, &profilespb.Function{})
			}
			repeatProfile(m, 5000)
		},
	} {
		m := agentMessage()
		spoil(m)
		if _, err := decode.Profiles(m, maxMemory); err == nil || !strings.Contains(err.Error(), "more than 512 MiB of memory as pprof") {
			t.Errorf("%s: %v, want an error", name, err)
		}
	}

	// A large message of a kind that occurs.
	m := agentMessage()
	m.Dictionary.StackTable[1].LocationIndices = slices.Repeat([]int32{1}, 40)
	repeatSample(m, 100_000)
	if _, err := decode.Profiles(m, maxMemory); err != nil {
		t.Error(err)
	}
}

func repeatSample(m *collectorpb.ExportProfilesServiceRequest, n int) {
	p := m.ResourceProfiles[0].ScopeProfiles[0].Profiles[0]
	p.Samples = slices.Repeat(p.Samples, n)
}

func repeatProfile(m *collectorpb.ExportProfilesServiceRequest, n int) {
	s := m.ResourceProfiles[0].ScopeProfiles[0]
	s.Profiles = slices.Repeat(s.Profiles, n)
}
