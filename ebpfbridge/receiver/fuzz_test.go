// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"slices"
	"testing"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/labelkey"
)

// FuzzTake takes any message. Exported profiles are valid, and have each sample of the message
// at most once.
func FuzzTake(f *testing.F) {
	m := newMessage()
	m.process(100, m.record(1, []uint64{1, 2}, "span_id", checkoutID), m.record(1, []uint64{3}, "span_id", searchID))
	m.process(99, m.record(2, []uint64{4}))
	linked := m.record(2, []uint64{5, 6})
	m.Dictionary.LinkTable = append(m.Dictionary.LinkTable, &profilespb.Link{TraceId: make([]byte, 16), SpanId: make([]byte, 8)})
	linked.LinkIndex = 1
	m.process(98, linked)
	seed, err := proto.Marshal(m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, b []byte) {
		m := new(collectorpb.ExportProfilesServiceRequest)
		if proto.Unmarshal(b, m) != nil {
			return
		}
		samples := 0
		for _, r := range m.GetResourceProfiles() {
			for _, s := range r.GetScopeProfiles() {
				for _, p := range s.GetProfiles() {
					for _, sample := range p.GetSamples() {
						samples += len(sample.GetTimestampsUnixNano())
					}
				}
			}
		}
		host, err := NewHost(new(exportertest.Recorder))
		if err != nil {
			t.Fatal(err)
		}
		_ = host.take(t.Context(), "", m) // as hostview does
		exported := new(exportertest.Recorder)
		r, err := New(exported, func(string) (name, traceID string, ok bool) { return "x", "", true })
		if err != nil {
			t.Fatal(err)
		}
		r.pid = 100
		if err := r.take(t.Context(), "", m); err != nil {
			return
		}
		var got int64
		for s := range samplesOf(t, exported) {
			got += s.Value[0]
			if slices.Contains(s.Label[labelkey.SpanAttribution], labelkey.Ambiguous) && len(s.Label[labelkey.SpanID]) > 0 {
				t.Fatalf("an ambiguous sample has the span %v", s.Label)
			}
		}
		if got > int64(samples) {
			t.Fatalf("%d samples exported of %d", got, samples)
		}
	})
}
