// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	resourcepb "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/ebpfbridge/internal/decode"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp"
)

// agentMessage is one as an eBPF agent and a Collector in between make it:
// timestamps without values, keys and texts in the string table.
func agentMessage() *collectorpb.ExportProfilesServiceRequest {
	text := func(i int32) *commonpb.AnyValue {
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValueStrindex{StringValueStrindex: i}}
	}
	return &collectorpb.ExportProfilesServiceRequest{
		ResourceProfiles: []*profilespb.ResourceProfiles{{
			Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{{KeyStrindex: 1, Value: text(2)}}},
			ScopeProfiles: []*profilespb.ScopeProfiles{{
				Profiles: []*profilespb.Profile{{
					SampleType:   &profilespb.ValueType{TypeStrindex: 3, UnitStrindex: 4},
					PeriodType:   &profilespb.ValueType{TypeStrindex: 5, UnitStrindex: 6},
					Period:       1e7,
					TimeUnixNano: 1e18,
					Samples: []*profilespb.Sample{{
						StackIndex: 1, LinkIndex: 1, AttributeIndices: []int32{1, 2, 3, 4}, TimestampsUnixNano: []uint64{1, 2, 3},
					}},
				}},
			}},
		}},
		Dictionary: &profilespb.ProfilesDictionary{
			StringTable: []string{"", "service.name", "shop", "samples", "count", "cpu", "nanoseconds", "thread.name", "worker", "main.work", "size", "bytes", "yes", "share"},
			AttributeTable: []*profilespb.KeyValueAndUnit{
				{},
				{KeyStrindex: 7, Value: text(8)},
				{KeyStrindex: 10, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: 7}}, UnitStrindex: 11},
				{KeyStrindex: 12, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: true}}},
				{KeyStrindex: 13, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: 0.5}}},
			},
			FunctionTable: []*profilespb.Function{{}, {NameStrindex: 9}},
			MappingTable:  []*profilespb.Mapping{{}},
			LocationTable: []*profilespb.Location{{}, {Address: 0x10, Lines: []*profilespb.Line{{FunctionIndex: 1, Line: 3}, {}}}},
			StackTable:    []*profilespb.Stack{{}, {LocationIndices: []int32{1}}},
			LinkTable:     []*profilespb.Link{{}, {TraceId: []byte("0123456789abcdef"), SpanId: []byte("01234567")}},
		},
	}
}

func decoded(t *testing.T, m *collectorpb.ExportProfilesServiceRequest) (decode.Timed, *profile.Profile) {
	t.Helper()
	profiles, err := decode.Profiles(m, maxMemory)
	if err != nil {
		t.Fatal(err)
	}
	if len(profiles) != 1 {
		t.Fatalf("%d profiles, want 1", len(profiles))
	}
	p, err := profiles[0].Parsed()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	return profiles[0], p
}

func TestProfilesOfAgent(t *testing.T) {
	e, p := decoded(t, agentMessage())
	if e.Kind() != exporter.KindCPU || e.Start().UnixNano() != 1e18 || e.Resource().String() != "service.name=shop" {
		t.Errorf("kind %s, start %v, resource %v", e.Kind(), e.Start(), e.Resource())
	}
	if len(p.SampleType) != 2 || p.SampleType[1].Type != "cpu" {
		t.Errorf("sample types %v, want the CPU time too", p.SampleType)
	}
	s := p.Sample[0]
	if diff := cmp.Diff([]int64{3, 3e7}, s.Value); diff != "" {
		t.Errorf("value: %s", diff)
	}
	want := map[string][]string{
		"thread.name": {"worker"}, "yes": {"true"}, "share": {"0.5"},
		"trace_id": {"30313233343536373839616263646566"}, "span_id": {"3031323334353637"},
	}
	if diff := cmp.Diff(want, s.Label); diff != "" {
		t.Errorf("labels: %s", diff)
	}
	if s.NumLabel["size"][0] != 7 || s.NumUnit["size"][0] != "bytes" {
		t.Errorf("numbers %v %v", s.NumLabel, s.NumUnit)
	}
	if f := s.Location[0].Line[0].Function; f.Name != "main.work" {
		t.Errorf("function %v", f)
	}
}

func TestValuesWithTimestamps(t *testing.T) {
	m := agentMessage()
	m.ResourceProfiles[0].ScopeProfiles[0].Profiles[0].Samples[0].Values = []int64{5, 6, 7}
	if _, p := decoded(t, m); p.Sample[0].Value[0] != 18 {
		t.Errorf("value %d, want the sum", p.Sample[0].Value)
	}
}

// twoColumns returns a profile of Go's CPU profiler with two samples.
func twoColumns() *profile.Profile {
	f := &profile.Function{ID: 1, Name: "main.work"}
	l := &profile.Location{ID: 1, Address: 1, Line: []profile.Line{{Function: f}}}
	cpu := &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, cpu},
		PeriodType: cpu,
		Period:     1e7,
		Function:   []*profile.Function{f},
		Location:   []*profile.Location{l},
		Sample: []*profile.Sample{
			{Location: []*profile.Location{l}, Value: []int64{3, 3e7}},
			{Value: []int64{1, 1e7}},
		},
	}
}

// Profiles of a scope that are no columns of one profile stay apart.
func TestUnlikeProfilesOfScope(t *testing.T) {
	for name, spoil := range map[string]func(heap *profilespb.ScopeProfiles){
		"other samples":  func(s *profilespb.ScopeProfiles) { s.Profiles[1].Samples[0].StackIndex = 0 },
		"fewer samples":  func(s *profilespb.ScopeProfiles) { s.Profiles[1].Samples = nil },
		"other time":     func(s *profilespb.ScopeProfiles) { s.Profiles[1].TimeUnixNano++ },
		"no such order":  func(s *profilespb.ScopeProfiles) { s.Scope.Attributes = nil },
		"order in error": func(s *profilespb.ScopeProfiles) { s.Profiles = append(s.Profiles, s.Profiles[0]) },
	} {
		m := request(t, exporter.NewParsedProfile(window, twoColumns()), otlp.WithCPUTime())
		scope := m.ResourceProfiles[0].ScopeProfiles[0]
		spoil(scope)
		profiles, err := decode.Profiles(m, maxMemory)
		if err != nil || len(profiles) != len(scope.Profiles) {
			t.Errorf("%s: %d profiles, %v; want %d", name, len(profiles), err, len(scope.Profiles))
		}
	}
}

func TestKinds(t *testing.T) {
	for _, tt := range []struct {
		sampleType string
		want       exporter.Kind
	}{
		{"cpu", exporter.KindCPU},
		{"inuse_space", exporter.KindHeap},
		{"alloc_objects", exporter.KindHeap},
		{"wall", exporter.KindWall},
		{"goroutine", exporter.KindGoroutine},
		{"contentions", "contentions"},
	} {
		m := agentMessage()
		m.Dictionary.StringTable[3], m.Dictionary.StringTable[5] = tt.sampleType, "events"
		if e, _ := decoded(t, m); e.Kind() != tt.want {
			t.Errorf("%s: kind %q, want %q", tt.sampleType, e.Kind(), tt.want)
		}
	}
}

func TestMalformedMessages(t *testing.T) {
	type message = collectorpb.ExportProfilesServiceRequest
	ofProfile := func(m *message) *profilespb.Profile { return m.ResourceProfiles[0].ScopeProfiles[0].Profiles[0] }
	for want, spoil := range map[string]func(*message){
		"resource: string_table[99]":                          func(m *message) { m.ResourceProfiles[0].Resource.Attributes[0].KeyStrindex = 99 },
		"scope: string_table[-1]":                             func(m *message) { m.ResourceProfiles[0].ScopeProfiles[0].Scope = badScope() },
		"sample_type: string_table[99]: out of range, the ta": func(m *message) { ofProfile(m).SampleType.TypeStrindex = 99 },
		"period_type: string_table[99]":                       func(m *message) { ofProfile(m).PeriodType.UnitStrindex = 99 },
		"attribute_table[77]":                                 func(m *message) { ofProfile(m).AttributeIndices = []int32{77} },
		"sample 0: stack_table[-5]":                           func(m *message) { ofProfile(m).Samples[0].StackIndex = -5 },
		"sample 0: attribute_table[9]":                        func(m *message) { ofProfile(m).Samples[0].AttributeIndices = []int32{9} },
		"sample 0: link_table[9]":                             func(m *message) { ofProfile(m).Samples[0].LinkIndex = 9 },
		"link_table[1]: ids of 3 and 8 bytes":                 func(m *message) { m.Dictionary.LinkTable[1].TraceId = []byte("abc") },
		"sample 0: two attributes have the key \"size\"":      func(m *message) { ofProfile(m).Samples[0].AttributeIndices = []int32{2, 2} },
		"two attributes have the key \"yes\"":                 func(m *message) { ofProfile(m).Samples[0].AttributeIndices = []int32{3, 3} },
		"no values and no timestamps":                         func(m *message) { ofProfile(m).Samples[0].TimestampsUnixNano = nil },
		"2 values for 3 timestamps":                           func(m *message) { ofProfile(m).Samples[0].Values = []int64{1, 2} },
		"stack_table[1]: location_table[8]":                   func(m *message) { m.Dictionary.StackTable[1].LocationIndices[0] = 8 },
		"location_table[1]: function_table[8]":                func(m *message) { m.Dictionary.LocationTable[1].Lines[0].FunctionIndex = 8 },
		"location_table[1]: mapping_table[8]":                 func(m *message) { m.Dictionary.LocationTable[1].MappingIndex = 8 },
		"location_table[1]: attribute_table[8]":               func(m *message) { m.Dictionary.LocationTable[1].AttributeIndices = []int32{8} },
		"function_table[1]: string_table[99]":                 func(m *message) { m.Dictionary.FunctionTable[1].FilenameStrindex = 99 },
		"out of range, the table has 0 elements":              func(m *message) { m.Dictionary = nil },
	} {
		m := agentMessage()
		spoil(m)
		if _, err := decode.Profiles(m, maxMemory); err == nil || !strings.HasPrefix(err.Error(), "decode: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("Profiles: %v, want %q", err, want)
		}
	}
	if profiles, err := decode.Profiles(nil, maxMemory); err != nil || profiles != nil {
		t.Errorf("Profiles(nil) = %v, %v", profiles, err)
	}
}

func badScope() *commonpb.InstrumentationScope {
	return &commonpb.InstrumentationScope{Attributes: []*commonpb.KeyValue{{KeyStrindex: -1}}}
}

// A sender that sends the CPU time itself is believed.
func TestBothSampleTypesOfSender(t *testing.T) {
	m := agentMessage()
	scope := m.ResourceProfiles[0].ScopeProfiles[0]
	cpu := proto.CloneOf(scope.Profiles[0])
	cpu.SampleType = &profilespb.ValueType{TypeStrindex: 5, UnitStrindex: 6}
	cpu.Samples[0].Values, cpu.Samples[0].TimestampsUnixNano = []int64{3e7}, nil
	scope.Profiles = append(scope.Profiles, cpu)

	profiles, err := decode.Profiles(m, maxMemory)
	if err != nil {
		t.Fatal(err)
	}
	var total int64
	for _, e := range profiles {
		p, err := e.Parsed()
		if err != nil {
			t.Fatal(err)
		}
		for column, sampleType := range p.SampleType {
			if sampleType.Type == "cpu" {
				total += p.Sample[0].Value[column]
			}
		}
	}
	if total != 3e7 {
		t.Errorf("%d ns of CPU time, want 3e7", total)
	}
}
