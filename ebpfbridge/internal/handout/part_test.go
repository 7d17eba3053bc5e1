// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	resourcepb "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/ebpfbridge/internal/decode"
)

// secrets returns a message of several processes. Each field with text has a different
// text for each process. Each process has one sample for each time.
func secrets(times []uint64, pids ...int64) *collectorpb.ExportProfilesServiceRequest {
	m := &collectorpb.ExportProfilesServiceRequest{Dictionary: newBuilder(nil).to}
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

func TestPartHasNothingOfOthers(t *testing.T) {
	m := secrets([]uint64{10, 20}, 1111, 2222, 3333)
	// An unknown field, as from a later version of OTLP.
	m.ProtoReflect().SetUnknown([]byte{0xa2, 0x06, 6, 's', 'e', 'c', 'r', 'e', 't'})
	m.Dictionary.ProtoReflect().SetUnknown([]byte{0xa2, 0x06, 6, 's', 'e', 'c', 'r', 'e', 't'})
	own, samples, err := part(m, 2222, 10)
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

// TestPartSinceStart drops samples of an earlier process with the same id, and records
// with labels that may be from it.
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
		samples          uint64
	}{{0, 9, 6}, {9, 9, 6}, {10, 9, 2}, {10, 10, 3}, {12, 0, 0}} {
		profile.TimeUnixNano = test.profile
		if _, samples, err := part(m, 5, test.started); err != nil || samples != test.samples {
			t.Errorf("since %d with a profile of %d: %d samples, %v, want %d", test.started, test.profile, samples, err, test.samples)
		}
	}
	if own, _, err := part(m, 6, 0); own != nil || err != nil {
		t.Errorf("of a process that is not there: %v, %v", own, err)
	}
}

func TestPartMalformed(t *testing.T) {
	m := secrets([]uint64{1}, 5, 6)
	m.GetResourceProfiles()[0].GetScopeProfiles()[0].GetProfiles()[0].GetSamples()[0].StackIndex = 99
	if _, _, err := part(m, 5, 0); err == nil || !strings.Contains(err.Error(), "stack_table[99]") {
		t.Errorf("an index out of range: %v", err)
	}
	if _, samples, err := part(m, 6, 0); samples != 1 || err != nil {
		t.Errorf("the other process has %d samples, %v, want its own", samples, err)
	}
	m = secrets([]uint64{1}, 5)
	r := m.GetResourceProfiles()[0].GetResource()
	r.Attributes = append(r.Attributes, &commonpb.KeyValue{Key: pidKey, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: 6}}})
	for _, pid := range []int64{5, 6} {
		if own, _, err := part(m, pid, 0); err == nil || own != nil {
			t.Errorf("a resource of two processes: process %d gets %v", pid, own)
		}
	}
	if own, _, err := part(nil, 5, 0); own != nil || err != nil {
		t.Errorf("no message: %v, %v", own, err)
	}
}

// TestPartOfRecordings compares the parts of a real agent's messages with the messages.
func TestPartOfRecordings(t *testing.T) {
	for _, load := range []string{"json", "cgo", "kernel", "shared-keyed"} {
		for _, m := range recorded(t, load) {
			whole, err := decode.Profiles(m, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			done := map[int64]bool{}
			for _, r := range m.GetResourceProfiles() {
				pid, err := ProcessID(m.GetDictionary(), r.GetResource())
				if err != nil || done[pid] {
					continue
				}
				done[pid] = true
				own, _, err := part(m, pid, 0)
				if err != nil {
					t.Fatal(err)
				}
				profiles, err := decode.Profiles(own, 1<<30)
				if err != nil {
					t.Fatal(err)
				}
				var of []decode.Timed
				for _, p := range whole {
					if v, _ := p.Resource().Set().Value("process.pid"); v.AsInt64() == pid {
						of = append(of, p)
					}
				}
				compareProfiles(t, of, profiles)
			}
		}
	}
}

func compareProfiles(t *testing.T, want, got []decode.Timed) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%d profiles, want %d", len(got), len(want))
	}
	for i := range want {
		w, err1 := want[i].Parsed()
		g, err2 := got[i].Parsed()
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(readable(w), readable(g)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if diff := cmp.Diff(want[i].Timestamps, got[i].Timestamps); diff != "" {
			t.Errorf("timestamps, -want +got:\n%s", diff)
		}
	}
}

// readable returns the samples as text, without indices.
func readable(p *profile.Profile) []string {
	list := []string{fmt.Sprint(*p.SampleType[0], *p.SampleType[1], *p.PeriodType, p.Period)}
	for _, s := range p.Sample {
		var text strings.Builder
		fmt.Fprintln(&text, s.Value, s.Label, s.NumLabel)
		for _, l := range s.Location {
			fmt.Fprintf(&text, "%#x", l.Address)
			if m := l.Mapping; m != nil {
				fmt.Fprint(&text, " ", m.File, m.BuildID, m.Start, m.Limit, m.Offset)
			}
			for _, line := range l.Line {
				fmt.Fprint(&text, " ", line.Function.Name, line.Function.Filename, line.Line)
			}
			fmt.Fprintln(&text)
		}
		list = append(list, text.String())
	}
	return list
}

// recorded returns messages that an agent sent.
func recorded(t *testing.T, load string) []*collectorpb.ExportProfilesServiceRequest {
	t.Helper()
	f, err := os.Open("../../receiver/testdata/" + load + ".pb.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var messages []*collectorpb.ExportProfilesServiceRequest
	for r := bufio.NewReader(unzipped); ; {
		m := new(collectorpb.ExportProfilesServiceRequest)
		err := protodelim.UnmarshalOptions{MaxSize: MaxMessage}.UnmarshalFrom(r, m)
		if errors.Is(err, io.EOF) {
			return messages
		}
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, m)
	}
}
