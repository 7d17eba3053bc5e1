// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	resourcepb "go.opentelemetry.io/proto/slim/otlp/resource/v1"
)

func number(n int64) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: n}}
}

func text(s string) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: s}}
}

// message returns one sample with all that an agent sends.
func message() *collectorpb.ExportProfilesServiceRequest {
	d := &profilespb.ProfilesDictionary{
		StringTable: []string{
			"", "samples", "count", "cpu", "nanoseconds", "main.main", "main.go", "program", "thread.id", "user", "ann",
			"profile.frame.type", "process.executable.build_id.gnu", "process.executable.build_id.go", "process.pid", "list",
		},
		AttributeTable: []*profilespb.KeyValueAndUnit{
			{},
			{KeyStrindex: 8, Value: number(7)},
			{KeyStrindex: 9, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValueStrindex{StringValueStrindex: 10}}},
			{KeyStrindex: 11, Value: text("go")},
			{KeyStrindex: 12, Value: text("abcd")},
			{KeyStrindex: 13, Value: text("go-id")},
			{KeyStrindex: 15, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{}}},
		},
		MappingTable:  []*profilespb.Mapping{{}, {MemoryStart: 1, MemoryLimit: 2, FileOffset: 3, FilenameStrindex: 7, AttributeIndices: []int32{4, 5}}},
		FunctionTable: []*profilespb.Function{{}, {NameStrindex: 5, FilenameStrindex: 6, StartLine: 9}},
		LocationTable: []*profilespb.Location{{}, {Address: 4, MappingIndex: 1, Lines: []*profilespb.Line{{FunctionIndex: 1, Line: 10}}, AttributeIndices: []int32{3}}, {Address: 5}},
		StackTable:    []*profilespb.Stack{{}, {LocationIndices: []int32{1, 2}}},
		LinkTable:     []*profilespb.Link{{}, {TraceId: []byte("0123456789abcdef"), SpanId: []byte("01234567")}},
	}
	return &collectorpb.ExportProfilesServiceRequest{Dictionary: d, ResourceProfiles: []*profilespb.ResourceProfiles{{
		Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{{KeyStrindex: 14, Value: number(100)}, {Key: "service.name", Value: text("shop")}, {Key: "list", Value: &commonpb.AnyValue{}}}},
		ScopeProfiles: []*profilespb.ScopeProfiles{{Profiles: []*profilespb.Profile{{
			SampleType: &profilespb.ValueType{TypeStrindex: 1, UnitStrindex: 2}, PeriodType: &profilespb.ValueType{TypeStrindex: 3, UnitStrindex: 4}, Period: 10,
			TimeUnixNano: 1e18, DurationNano: 1e9,
			Samples: []*profilespb.Sample{{StackIndex: 1, LinkIndex: 1, AttributeIndices: []int32{1, 2, 6}, TimestampsUnixNano: []uint64{1, 2}, Values: []int64{3, 4}}},
		}}}},
	}}}
}

func TestProfiles(t *testing.T) {
	list, err := Profiles(message(), 1<<20)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d profiles, %v, want 1", len(list), err)
	}
	p := list[0]
	mapping := &profile.Mapping{ID: 1, Start: 1, Limit: 2, Offset: 3, File: "program", BuildID: "abcd"}
	function := &profile.Function{ID: 1, Name: "main.main", Filename: "main.go", StartLine: 9}
	stack := []*profile.Location{{ID: 1, Address: 4, Mapping: mapping, Line: []profile.Line{{Function: function, Line: 10}}}, {ID: 2, Address: 5}}
	want := []Record{{
		Stack: stack, StackIndex: 1, Attributes: []Attribute{{Key: "thread.id", Number: 7, IsNumber: true}, {Key: "user", Text: "ann"}, {Key: "list"}},
		SpanID: "3031323334353637", TraceID: "30313233343536373839616263646566", Timestamps: []uint64{1, 2}, Values: []int64{3, 4},
	}}
	unexported := cmp.FilterPath(func(p cmp.Path) bool {
		f, ok := p.Last().(cmp.StructField)
		return ok && f.Name()[0] >= 'a'
	}, cmp.Ignore())
	if diff := cmp.Diff(want, p.Records, unexported); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[uint64]string{1: "go"}, p.FrameTypes); diff != "" || len(p.Tables.Location) != 2 || len(p.Tables.Mapping) != 1 || len(p.Tables.Function) != 1 {
		t.Errorf("tables %v, frame types (-want +got):\n%s", p.Tables, diff)
	}
	if s := p.Resource.String(); s != "process.pid=100,service.name=shop" {
		t.Errorf("resource %s", s)
	}
	if !p.Start.Equal(time.Unix(1e9, 0)) || p.Duration != time.Second || p.Every != 10 || p.Sample.Type != "samples" || p.Sample.Unit != "count" || p.Period.Type != "cpu" || p.Period.Unit != "nanoseconds" {
		t.Errorf("got %+v", p)
	}
}

// An index out of range is an error with its place, anywhere.
func TestMalformed(t *testing.T) {
	for want, spoil := range map[string]func(d *profilespb.ProfilesDictionary, p *profilespb.Profile){
		"sample 0: stack_table[9]":     func(_ *profilespb.ProfilesDictionary, p *profilespb.Profile) { p.Samples[0].StackIndex = 9 },
		"sample 0: attribute_table[9]": func(_ *profilespb.ProfilesDictionary, p *profilespb.Profile) { p.Samples[0].AttributeIndices[1] = 9 },
		"link_table[9]":                func(_ *profilespb.ProfilesDictionary, p *profilespb.Profile) { p.Samples[0].LinkIndex = 9 },
		"link_table[1]: ids of 3":      func(d *profilespb.ProfilesDictionary, _ *profilespb.Profile) { d.LinkTable[1].TraceId = []byte("abc") },
		"location_table[-1]":           func(d *profilespb.ProfilesDictionary, _ *profilespb.Profile) { d.StackTable[1].LocationIndices[1] = -1 },
		"string_table[99]":             func(d *profilespb.ProfilesDictionary, _ *profilespb.Profile) { d.FunctionTable[1].NameStrindex = 99 },
		"3 values for 2 timestamps":    func(_ *profilespb.ProfilesDictionary, p *profilespb.Profile) { p.Samples[0].Values = []int64{1, 2, 3} },
	} {
		m := message()
		spoil(m.Dictionary, m.ResourceProfiles[0].ScopeProfiles[0].Profiles[0])
		if list, err := Profiles(m, 1<<20); err == nil || !strings.Contains(err.Error(), want) || list != nil {
			t.Errorf("got %v, %v, want an error with %q", list, err, want)
		}
	}
	if list, err := Profiles(nil, 1<<20); len(list) > 0 || err != nil {
		t.Errorf("no message: got %v, %v", list, err)
	}
}

// In pprof nothing is shared. Few bytes with many references cost their memory there.
func TestBudget(t *testing.T) {
	for name, enlarge := range map[string]func(d *profilespb.ProfilesDictionary, p *profilespb.Profile){
		"samples": func(_ *profilespb.ProfilesDictionary, p *profilespb.Profile) {
			for range 5000 {
				p.Samples = append(p.Samples, &profilespb.Sample{})
			}
		},
		"frames": func(d *profilespb.ProfilesDictionary, _ *profilespb.Profile) {
			d.StackTable[1].LocationIndices = make([]int32, 100_000)
		},
		"attributes": func(_ *profilespb.ProfilesDictionary, p *profilespb.Profile) {
			p.Samples[0].AttributeIndices = make([]int32, 5000)
		},
		"timestamps": func(_ *profilespb.ProfilesDictionary, p *profilespb.Profile) {
			p.Samples[0].TimestampsUnixNano, p.Samples[0].Values = make([]uint64, 200_000), nil
		},
		"lines": func(d *profilespb.ProfilesDictionary, _ *profilespb.Profile) {
			for range 20_000 {
				d.LocationTable[1].Lines = append(d.LocationTable[1].Lines, &profilespb.Line{})
			}
		},
		"attributes of a location": func(d *profilespb.ProfilesDictionary, _ *profilespb.Profile) {
			d.LocationTable[1].AttributeIndices = make([]int32, 20_000)
		},
		"attributes of a mapping": func(d *profilespb.ProfilesDictionary, _ *profilespb.Profile) {
			d.MappingTable[1].AttributeIndices = make([]int32, 20_000)
		},
	} {
		m := message()
		enlarge(m.Dictionary, m.ResourceProfiles[0].ScopeProfiles[0].Profiles[0])
		if _, err := Profiles(m, 1<<20); err == nil || !strings.Contains(err.Error(), "more than 1 MiB") {
			t.Errorf("%s: got %v, want an error", name, err)
		}
	}
}
