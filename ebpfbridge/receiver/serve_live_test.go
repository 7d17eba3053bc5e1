// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package receiver

import (
	"runtime"
	"strings"
	"testing"

	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
)

// TestHostile has little messages that could take much memory or time.
func TestHostile(t *testing.T) {
	huge := strings.Repeat("x", 8<<20)
	many := make([]uint64, 1<<20)
	for name, spoil := range map[string]func(message) []*profilespb.Sample{
		"samples that share a huge label": func(m message) (samples []*profilespb.Sample) {
			first := m.record(1, []uint64{1}, "span_id", searchID, "user", huge)
			for range 10_000 {
				samples = append(samples, first)
			}
			return samples
		},
		"attributes that share a huge id": func(m message) []*profilespb.Sample {
			var labels []string
			for range 10_000 {
				labels = append(labels, "span_id", huge)
			}
			m.record(1, nil, labels...)
			return []*profilespb.Sample{m.record(1, []uint64{1}, "span_id", searchID)}
		},
		"many timestamps": func(m message) []*profilespb.Sample {
			return []*profilespb.Sample{m.record(1, many, "span_id", searchID)}
		},
		"a file with a huge name": func(m message) []*profilespb.Sample {
			m.Dictionary.MappingTable = append(m.Dictionary.MappingTable, &profilespb.Mapping{FilenameStrindex: m.text(huge)})
			for range 10_000 {
				l := &profilespb.Location{MappingIndex: 1}
				m.Dictionary.StackTable[1].LocationIndices = append(m.Dictionary.StackTable[1].LocationIndices, int32(len(m.Dictionary.LocationTable)))
				m.Dictionary.LocationTable = append(m.Dictionary.LocationTable, l)
			}
			return []*profilespb.Sample{m.record(1, []uint64{1}, "span_id", searchID)}
		},
		"a deep stack in many samples": func(m message) (samples []*profilespb.Sample) {
			m.Dictionary.StackTable[1].LocationIndices = make([]int32, 100_000)
			for range 1000 {
				samples = append(samples, m.record(1, []uint64{1}, "span_id", searchID))
			}
			return samples
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMessage()
			m.process(100, spoil(m)...)
			r, _ := newReceiver(t)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := r.take(t.Context(), "", m.ExportProfilesServiceRequest)
			runtime.ReadMemStats(&after)
			allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
			t.Logf("%d MiB allocated, error %v", allocated, err)
			if allocated > 3*maxMemory>>20 {
				t.Errorf("%d MiB allocated for one message", allocated)
			}
		})
	}
}
