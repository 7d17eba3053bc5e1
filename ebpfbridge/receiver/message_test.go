// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	resourcepb "go.opentelemetry.io/proto/slim/otlp/resource/v1"

	"github.com/spanprof/spanprof/internal/attribution"
)

// Spans of the process in tests.
const (
	checkoutID = "00f067aa0ba902b7"
	searchID   = "53995c3f42cd8ad8"
	traceID    = "4bf92f3577b34da6a3ce929d0e0e4736"
	longName   = "GET /products/{id} with a name that is longer than 47 bytes"
)

func lookup(id string) (name, trace string, ok bool) {
	switch id {
	case checkoutID:
		return longName, traceID, true
	case searchID:
		return "search", "", true
	}
	return "", "", false
}

// message writes what an agent sends.
type message struct {
	*collectorpb.ExportProfilesServiceRequest
	strings map[string]int32
}

func newMessage() message {
	m := message{&collectorpb.ExportProfilesServiceRequest{Dictionary: &profilespb.ProfilesDictionary{
		AttributeTable: []*profilespb.KeyValueAndUnit{{Value: &commonpb.AnyValue{}}},
		FunctionTable:  []*profilespb.Function{{}},
		MappingTable:   []*profilespb.Mapping{{}},
		LocationTable:  []*profilespb.Location{{}, {Address: 1}, {Address: 2}},
		StackTable:     []*profilespb.Stack{{}, {LocationIndices: []int32{1, 2}}, {LocationIndices: []int32{2}}},
		LinkTable:      []*profilespb.Link{{}},
	}}, map[string]int32{}}
	m.text("")
	return m
}

func (m message) text(s string) int32 {
	if i, ok := m.strings[s]; ok {
		return i
	}
	i := int32(len(m.Dictionary.StringTable))
	m.Dictionary.StringTable = append(m.Dictionary.StringTable, s)
	m.strings[s] = i
	return i
}

// process adds a process with a CPU profile.
func (m message) process(pid int64, samples ...*profilespb.Sample) {
	m.ResourceProfiles = append(m.ResourceProfiles, &profilespb.ResourceProfiles{
		Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{{
			KeyStrindex: m.text("process.pid"), Value: number(pid),
		}}},
		ScopeProfiles: []*profilespb.ScopeProfiles{{
			Scope: &commonpb.InstrumentationScope{Name: "agent", Version: "(devel)"},
			Profiles: []*profilespb.Profile{{
				SampleType: &profilespb.ValueType{TypeStrindex: m.text("samples"), UnitStrindex: m.text("count")},
				PeriodType: &profilespb.ValueType{TypeStrindex: m.text("cpu"), UnitStrindex: m.text("nanoseconds")},
				Period:     10, Samples: samples, TimeUnixNano: 1e18, DurationNano: 1e9,
			}},
		}},
	})
}

// record returns a sample with labels, as "key", "value".
func (m message) record(stack int32, timestamps []uint64, labels ...string) *profilespb.Sample {
	s := &profilespb.Sample{StackIndex: stack, TimestampsUnixNano: timestamps}
	m.attribute(s, "thread.id", number(7))
	for i := 0; i < len(labels); i += 2 {
		m.attribute(s, attribution.LabelPrefix+labels[i], &commonpb.AnyValue{
			Value: &commonpb.AnyValue_StringValueStrindex{StringValueStrindex: m.text(labels[i+1])},
		})
	}
	return s
}

func (m message) attribute(s *profilespb.Sample, key string, v *commonpb.AnyValue) {
	s.AttributeIndices = append(s.AttributeIndices, int32(len(m.Dictionary.AttributeTable)))
	m.Dictionary.AttributeTable = append(m.Dictionary.AttributeTable, &profilespb.KeyValueAndUnit{KeyStrindex: m.text(key), Value: v})
}

func number(n int64) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: n}}
}
