// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	resourcepb "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/protobuf/proto"
)

// secrets returns a message of several processes. Each field with text has a different
// text for each process. Each process has one sample for each time.
func secrets(times []uint64, pids ...int64) *collectorpb.ExportProfilesServiceRequest {
	m := &collectorpb.ExportProfilesServiceRequest{Dictionary: &profilespb.ProfilesDictionary{
		StringTable: []string{""}, MappingTable: []*profilespb.Mapping{{}}, FunctionTable: []*profilespb.Function{{}}, LocationTable: []*profilespb.Location{{}},
		StackTable: []*profilespb.Stack{{}}, LinkTable: []*profilespb.Link{{}}, AttributeTable: []*profilespb.KeyValueAndUnit{{}},
	}}
	d := m.Dictionary
	text := func(format string, args ...any) int32 {
		d.StringTable = append(d.StringTable, fmt.Sprintf(format, args...))
		return int32(len(d.StringTable) - 1)
	}
	ref := func(format string, args ...any) *commonpb.AnyValue {
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValueStrindex{StringValueStrindex: text(format, args...)}}
	}
	cpu, ns := text("cpu"), text("nanoseconds")
	for _, pid := range pids {
		secret := func(what string) *commonpb.AnyValue { return ref("secret of %d: %s", pid, what) }
		nested := &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{KvlistValue: &commonpb.KeyValueList{Values: []*commonpb.KeyValue{
			{Key: fmt.Sprintf("secret of %d: key", pid), Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: &commonpb.ArrayValue{Values: []*commonpb.AnyValue{secret("nested"), {Value: &commonpb.AnyValue_IntValue{IntValue: pid}}}}}}},
		}}}}
		d.AttributeTable = append(d.AttributeTable, &profilespb.KeyValueAndUnit{KeyStrindex: text("secret of %d: label", pid), Value: nested, UnitStrindex: text("secret of %d: unit", pid)})
		attribute := []int32{int32(len(d.AttributeTable) - 1)}
		d.MappingTable = append(d.MappingTable, &profilespb.Mapping{FilenameStrindex: text("secret of %d: file", pid), AttributeIndices: attribute})
		d.FunctionTable = append(d.FunctionTable, &profilespb.Function{NameStrindex: text("secret of %d: function", pid), FilenameStrindex: text("secret of %d: source", pid)})
		d.LocationTable = append(d.LocationTable, &profilespb.Location{MappingIndex: int32(len(d.MappingTable) - 1), AttributeIndices: attribute, Lines: []*profilespb.Line{{FunctionIndex: int32(len(d.FunctionTable) - 1)}}})
		d.StackTable = append(d.StackTable, &profilespb.Stack{LocationIndices: []int32{int32(len(d.LocationTable) - 1)}})
		d.LinkTable = append(d.LinkTable, &profilespb.Link{TraceId: fmt.Appendf(nil, "trace of %07d", pid), SpanId: fmt.Appendf(nil, "span%04d", pid)})
		p := &profilespb.Profile{
			SampleType: &profilespb.ValueType{TypeStrindex: cpu, UnitStrindex: ns}, PeriodType: &profilespb.ValueType{TypeStrindex: cpu, UnitStrindex: ns}, Period: 1,
			OriginalPayload: []byte("secret of the host"), OriginalPayloadFormat: "secret of the host",
		}
		for _, at := range times {
			p.Samples = append(p.Samples, &profilespb.Sample{StackIndex: int32(len(d.StackTable) - 1), AttributeIndices: attribute, LinkIndex: int32(len(d.LinkTable) - 1), TimestampsUnixNano: []uint64{at}})
		}
		m.ResourceProfiles = append(m.ResourceProfiles, &profilespb.ResourceProfiles{
			Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{
				{KeyStrindex: text("process.pid"), Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: pid}}},
				{Key: "process.executable.name", Value: secret("executable")},
			}},
			ScopeProfiles: []*profilespb.ScopeProfiles{{Scope: &commonpb.InstrumentationScope{Name: "agent"}, Profiles: []*profilespb.Profile{p}}},
		})
	}
	return m
}

func sameThread(id int64) int64 { return id }

func TestPartHasNothingOfOthers(t *testing.T) {
	m := secrets([]uint64{10, 20}, 1111, 2222, 3333)
	// An unknown field, as from a later version of OTLP.
	m.ProtoReflect().SetUnknown([]byte{0xa2, 0x06, 6, 's', 'e', 'c', 'r', 'e', 't'})
	m.Dictionary.ProtoReflect().SetUnknown([]byte{0xa2, 0x06, 6, 's', 'e', 'c', 'r', 'e', 't'})
	own, samples, err := part(m, 2222, 10, sameThread)
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(own)
	if err != nil {
		t.Fatal(err)
	}
	if samples != 2 {
		t.Errorf("%d samples, want 2", samples)
	}
	for _, foreign := range []string{"1111", "3333", "the host"} {
		if bytes.Contains(b, []byte(foreign)) {
			t.Errorf("what process 2222 gets has %q", foreign)
		}
	}
	if got := bytes.Count(b, []byte("secret")); got != bytes.Count(b, []byte("secret of 2222")) || got != 8 {
		t.Errorf("%d texts, want the process's own 8", got)
	}
	if !bytes.Contains(b, []byte("span2222")) || !bytes.Contains(b, []byte("trace of 0002222")) {
		t.Error("the Link is lost")
	}
	if n := len(own.GetDictionary().GetStringTable()); n != 11 {
		t.Errorf("%d texts: %q, want 11", n, own.GetDictionary().GetStringTable())
	}
}

// TestPartSinceStart drops samples of an earlier process with the same id. It also drops
// records with labels that may be from it.
func TestPartSinceStart(t *testing.T) {
	m := secrets([]uint64{9, 10, 11}, 5)
	profile := m.GetResourceProfiles()[0].GetScopeProfiles()[0].GetProfiles()[0]
	both := proto.CloneOf(profile.GetSamples()[0])
	both.TimestampsUnixNano = []uint64{12, 9}
	untimed := proto.CloneOf(profile.GetSamples()[0])
	untimed.TimestampsUnixNano, untimed.Values = nil, []int64{1}
	profile.Samples = append(profile.Samples, both, untimed)
	for _, test := range []struct {
		started, profile uint64
		samples          int
	}{{0, 9, 6}, {9, 9, 6}, {10, 9, 2}, {10, 10, 3}, {12, 0, 0}} {
		profile.TimeUnixNano = test.profile
		if _, samples, err := part(m, 5, test.started, sameThread); err != nil || samples != test.samples {
			t.Errorf("since %d with a profile of %d: %d samples, %v, want %d", test.started, test.profile, samples, err, test.samples)
		}
	}
	if own, _, err := part(m, 6, 0, sameThread); own != nil || err != nil {
		t.Errorf("of an absent process: %v, %v", own, err)
	}
}

func TestPartMalformed(t *testing.T) {
	m := secrets([]uint64{1}, 5, 6)
	m.GetResourceProfiles()[0].GetScopeProfiles()[0].GetProfiles()[0].GetSamples()[0].StackIndex = 99
	if _, _, err := part(m, 5, 0, sameThread); err == nil || !strings.Contains(err.Error(), "stack_table[99]") {
		t.Errorf("an index out of range: %v", err)
	}
	if _, samples, err := part(m, 6, 0, sameThread); samples != 1 || err != nil {
		t.Errorf("the other process has %d samples, %v, want its own", samples, err)
	}
	m = secrets([]uint64{1}, 5)
	r := m.GetResourceProfiles()[0].GetResource()
	r.Attributes = append(r.Attributes, &commonpb.KeyValue{Key: pidKey, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: 6}}})
	for _, pid := range []int64{5, 6} {
		if own, _, err := part(m, pid, 0, sameThread); err == nil || own != nil {
			t.Errorf("a resource of two processes: process %d gets %v", pid, own)
		}
	}
	if own, _, err := part(nil, 5, 0, sameThread); own != nil || err != nil {
		t.Errorf("no message: %v, %v", own, err)
	}
}

// Threads get the ids of the process's own namespace, without changes of the message.
func TestPartThreads(t *testing.T) {
	m := secrets([]uint64{1}, 5)
	d := m.GetDictionary()
	d.StringTable = append(d.StringTable, threadKey)
	d.AttributeTable = append(d.AttributeTable, &profilespb.KeyValueAndUnit{
		KeyStrindex: int32(len(d.StringTable) - 1), Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: 4711}},
	})
	s := m.GetResourceProfiles()[0].GetScopeProfiles()[0].GetProfiles()[0].GetSamples()[0]
	s.AttributeIndices = append(s.AttributeIndices, int32(len(d.AttributeTable)-1))
	before := proto.CloneOf(m)
	own, _, err := part(m, 5, 0, func(id int64) int64 { return id - 4700 })
	if err != nil {
		t.Fatal(err)
	}
	list := own.GetDictionary().GetAttributeTable()
	if got := list[len(list)-1].GetValue().GetIntValue(); got != 11 || !proto.Equal(m, before) {
		t.Errorf("thread %d, want 11 and the message unchanged", got)
	}
}

// FuzzPart has messages that no agent sends. A part has the process's own resources alone,
// and is its own part once more.
func FuzzPart(f *testing.F) {
	seed, err := proto.Marshal(secrets([]uint64{2, 3}, 1, 2))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed, int64(1), uint64(0))
	f.Fuzz(func(t *testing.T, b []byte, pid int64, started uint64) {
		m := new(collectorpb.ExportProfilesServiceRequest)
		if proto.Unmarshal(b, m) != nil {
			return
		}
		own, samples, err := part(m, pid, started, sameThread)
		if err != nil || own == nil {
			return
		}
		for _, r := range own.GetResourceProfiles() {
			if of, err := ProcessID(own.GetDictionary(), r.GetResource()); err != nil || of != pid {
				t.Fatalf("a resource of process %d, %v, want %d", of, err, pid)
			}
		}
		again, n, err := part(own, pid, started, sameThread)
		if err != nil || n != samples || !proto.Equal(own, again) {
			t.Fatalf("%d samples, then %d, %v:\n%v\n%v", samples, n, err, own, again)
		}
	})
}
