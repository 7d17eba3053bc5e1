// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp"
	"github.com/spanprof/spanprof/internal/report/reporttest"
)

// series returns what Pyroscope v2.2.1 makes series of (pkg/ingester/otlp): the period's type, which
// is the name, the sample's type, and the labels of samples and of the resource.
func series(m *collectorpb.ExportProfilesServiceRequest) (all []string) {
	d := m.Dictionary
	for _, p := range m.ResourceProfiles[0].ScopeProfiles[0].Profiles {
		for _, s := range p.Samples {
			var labels []string
			for _, kv := range m.ResourceProfiles[0].Resource.Attributes {
				labels = append(labels, kv.Key+"="+kv.Value.GetStringValue())
			}
			for _, i := range s.AttributeIndices {
				labels = append(labels, d.StringTable[d.AttributeTable[i].KeyStrindex]+"="+d.AttributeTable[i].Value.GetStringValue())
			}
			slices.Sort(labels)
			text := d.StringTable[p.PeriodType.TypeStrindex] + ":" + d.StringTable[p.SampleType.TypeStrindex]
			all = append(all, text+" "+strings.Join(labels, ","))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// With WithPyroscope every kind arrives, in few series, under the names of a push. Package series
// has the rules of labels.
func TestPyroscope(t *testing.T) {
	many := map[string][]string{"span_id": {"0123456789abcdef"}, "trace_id": {"0123456789abcdef0123456789abcdef"}}
	var kept []string
	for i := range 40 {
		label := fmt.Sprintf("l%02d", i)
		many[label] = []string{"x"}
		if i < 24 {
			kept = append(kept, label+"=x")
		}
	}
	contentions := []string{"contentions", "delay"}
	for _, tt := range []struct {
		kind   exporter.Kind
		types  []string
		period string // the type
		labels map[string][]string
		want   []string
	}{
		{exporter.KindCPU, []string{"samples"}, "cpu", map[string][]string{"http.route": {"/"}, "ended_span_id": {"1"}}, []string{"cpu:samples http_route=/,k8s_pod=x,service.name=shop"}},
		{exporter.KindWall, []string{"wall"}, "wall", many, []string{"wall:wall " + strings.Join(kept, ",") + ",service.name=shop"}},
		{exporter.KindHeap, []string{"alloc_space", "inuse_space"}, "space", nil, []string{"memory:alloc_space k8s_pod=x,service.name=shop", "memory:inuse_space k8s_pod=x,service.name=shop"}},
		{exporter.KindMutex, contentions, "contentions", nil, []string{"mutex:contentions k8s_pod=x,service.name=shop", "mutex:delay k8s_pod=x,service.name=shop"}},
		{exporter.KindBlock, contentions, "contentions", nil, []string{"block:contentions k8s_pod=x,service.name=shop", "block:delay k8s_pod=x,service.name=shop"}},
	} {
		t.Run(string(tt.kind), func(t *testing.T) {
			reporttest.Collect(t)
			p := &profile.Profile{PeriodType: &profile.ValueType{Type: tt.period, Unit: "unit"}}
			for _, name := range tt.types {
				p.SampleType = append(p.SampleType, &profile.ValueType{Type: name, Unit: "unit"})
			}
			for i := range 40 {
				p.Sample = append(p.Sample, &profile.Sample{Value: make([]int64, len(tt.types)), Label: tt.labels, NumLabel: map[string][]int64{"bytes": {int64(i)}}})
			}
			b := &backend{t: t}
			e := newExporter(t, b, otlp.WithPyroscope(), otlp.WithSpanIDAttributes()) // the ids would be stored twice
			w := exporter.Window{
				Kind: tt.kind, Start: time.Now(), Duration: time.Second,
				Resource: resource.NewSchemaless(attribute.String("service.name", "shop"), attribute.String("service.instance.id", "x"), attribute.String("k8s.pod", "x")),
			}
			if err := e.Export(t.Context(), exporter.NewParsedProfile(w, p)); err != nil {
				t.Fatal(err)
			}
			if err := e.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, messages := b.received()
			if diff := cmp.Diff(tt.want, series(messages[0])); diff != "" {
				t.Errorf("series (-want +got):\n%s", diff)
			}
			if p := messages[0].ResourceProfiles[0].ScopeProfiles[0].Profiles[0]; p.Period == 0 {
				t.Error("the server ignores a period of 0")
			}
		})
	}
}
