// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"

	"github.com/spanprof/spanprof/ebpfbridge/internal/decode"
)

// fromAgent returns what an eBPF agent sends, in small: timestamps without values, and a label
// with key and value in the string table.
func fromAgent() *collectorpb.ExportProfilesServiceRequest {
	index := func(i int32) *commonpb.AnyValue {
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValueStrindex{StringValueStrindex: i}}
	}
	return &collectorpb.ExportProfilesServiceRequest{
		ResourceProfiles: []*profilespb.ResourceProfiles{{ScopeProfiles: []*profilespb.ScopeProfiles{{
			Scope: &commonpb.InstrumentationScope{Name: "agent", Version: "1"},
			Profiles: []*profilespb.Profile{{
				SampleType: &profilespb.ValueType{TypeStrindex: 1, UnitStrindex: 2},
				PeriodType: &profilespb.ValueType{TypeStrindex: 3, UnitStrindex: 4},
				Period:     10,
				Samples: []*profilespb.Sample{
					{StackIndex: 1, AttributeIndices: []int32{1}, TimestampsUnixNano: []uint64{7, 8, 9}},
					{StackIndex: 1, TimestampsUnixNano: []uint64{5}},
				},
			}},
		}}}},
		Dictionary: &profilespb.ProfilesDictionary{
			StringTable:    []string{"", "samples", "count", "cpu", "nanoseconds", "span_name", "checkout", "profile.frame.type", "kernel"},
			AttributeTable: []*profilespb.KeyValueAndUnit{{}, {KeyStrindex: 5, Value: index(6)}, {KeyStrindex: 7, Value: index(8)}},
			FunctionTable:  []*profilespb.Function{{}},
			MappingTable:   []*profilespb.Mapping{{}},
			LocationTable:  []*profilespb.Location{{}, {Address: 1, AttributeIndices: []int32{2}}, {Address: 2}},
			StackTable:     []*profilespb.Stack{{}, {LocationIndices: []int32{1, 2}}},
			LinkTable:      []*profilespb.Link{{}},
		},
	}
}

func TestTimedProfiles(t *testing.T) {
	profiles, err := decode.Profiles(fromAgent(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if len(profiles) != 1 {
		t.Fatalf("%d profiles, want 1", len(profiles))
	}
	p := profiles[0]
	if diff := cmp.Diff([][]uint64{{7, 8, 9}, {5}}, p.Timestamps); diff != "" {
		t.Errorf("timestamps (-want +got):\n%s", diff)
	}
	if want := (instrumentation.Scope{Name: "agent", Version: "1"}); p.Scope != want {
		t.Errorf("scope %v, want %v", p.Scope, want)
	}
	parsed, err := p.Parsed()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{3, 30}, parsed.Sample[0].Value); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]string{"span_name": {"checkout"}}, parsed.Sample[0].Label); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[uint64]string{parsed.Sample[0].Location[0].ID: "kernel"}, p.FrameTypes); diff != "" {
		t.Errorf("frame types (-want +got):\n%s", diff)
	}
}

func TestTimedProfilesMemory(t *testing.T) {
	if _, err := decode.Profiles(fromAgent(), 100); err == nil {
		t.Error("no error for a message that takes more memory than it may")
	}
}
