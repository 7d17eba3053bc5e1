// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package receiver

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path"
	"testing"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/spanprof/spanprof/ebpfbridge/internal/handout"
)

// recordTo writes name.pb.gz and name.json.gz, which TestRecorded replays. They have
// the target's process alone, and no paths.
func recordTo(t *testing.T, name string, truth truth, messages []*collectorpb.ExportProfilesServiceRequest) {
	t.Helper()
	create := func(name string, write func(w *gzip.Writer)) {
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		w, err := gzip.NewWriterLevel(f, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		write(w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	create(name+".pb.gz", func(w *gzip.Writer) {
		pid := truth.pid(t, messages)
		for _, m := range messages {
			own := &collectorpb.ExportProfilesServiceRequest{Dictionary: m.GetDictionary()}
			for _, r := range m.GetResourceProfiles() {
				if of, err := handout.ProcessID(m.GetDictionary(), r.GetResource()); err == nil && of == pid {
					own.ResourceProfiles = append(own.ResourceProfiles, r)
				}
			}
			if _, err := protodelim.MarshalTo(w, trimmed(own)); err != nil {
				t.Fatal(err)
			}
		}
	})
	create(name+".json.gz", func(w *gzip.Writer) {
		for _, s := range truth {
			if err := json.NewEncoder(w).Encode(s); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// trimmed empties what the message does not refer to in its tables, and leaves file
// names without directories. The tables stay as long as they were.
func trimmed(m *collectorpb.ExportProfilesServiceRequest) *collectorpb.ExportProfilesServiceRequest {
	t := m.GetDictionary()
	out := &profilespb.ProfilesDictionary{
		StringTable:    make([]string, len(t.StringTable)),
		AttributeTable: empty[profilespb.KeyValueAndUnit](len(t.AttributeTable)),
		LocationTable:  empty[profilespb.Location](len(t.LocationTable)),
		FunctionTable:  empty[profilespb.Function](len(t.FunctionTable)),
		MappingTable:   empty[profilespb.Mapping](len(t.MappingTable)),
		StackTable:     empty[profilespb.Stack](len(t.StackTable)),
		LinkTable:      t.LinkTable,
	}
	text := func(i int32) { out.StringTable[i] = t.StringTable[i] }
	file := func(i int32) { out.StringTable[i] = path.Base("/" + t.StringTable[i]) }
	attributes := func(indices []int32) {
		for _, i := range indices {
			a := t.AttributeTable[i]
			out.AttributeTable[i] = a
			text(a.KeyStrindex)
			text(a.UnitStrindex)
			if v, ok := a.GetValue().GetValue().(*commonpb.AnyValue_StringValueStrindex); ok {
				text(v.StringValueStrindex)
			}
		}
	}
	for _, r := range m.ResourceProfiles {
		var kept []*commonpb.KeyValue
		for _, kv := range r.GetResource().GetAttributes() {
			if kv.Key == "process.pid" {
				kept = append(kept, kv)
			}
		}
		r.Resource.Attributes = kept
		for _, s := range r.ScopeProfiles {
			s.Scope.Name = path.Base(s.Scope.Name)
			for _, p := range s.Profiles {
				for _, v := range []*profilespb.ValueType{p.SampleType, p.PeriodType} {
					text(v.GetTypeStrindex())
					text(v.GetUnitStrindex())
				}
				attributes(p.AttributeIndices)
				for _, s := range p.Samples {
					attributes(s.AttributeIndices)
					stack := t.StackTable[s.StackIndex]
					out.StackTable[s.StackIndex] = stack
					for _, l := range stack.LocationIndices {
						location := t.LocationTable[l]
						out.LocationTable[l] = location
						attributes(location.AttributeIndices)
						mapping := t.MappingTable[location.MappingIndex]
						out.MappingTable[location.MappingIndex] = mapping
						file(mapping.FilenameStrindex)
						attributes(mapping.AttributeIndices)
						for _, line := range location.Lines {
							f := t.FunctionTable[line.FunctionIndex]
							out.FunctionTable[line.FunctionIndex] = f
							text(f.NameStrindex)
							file(f.FilenameStrindex)
						}
					}
				}
			}
		}
	}
	out.StringTable[0] = ""
	return &collectorpb.ExportProfilesServiceRequest{ResourceProfiles: m.ResourceProfiles, Dictionary: out}
}

func empty[E any](n int) []*E {
	elems := make([]*E, n)
	for i := range elems {
		elems[i] = new(E)
	}
	return elems
}
