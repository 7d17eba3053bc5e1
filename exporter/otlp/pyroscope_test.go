// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp"
	"github.com/spanprof/spanprof/internal/report"
)

// pyroscopeSeries returns the series that Pyroscope v2.2.1 makes of a message: its type and
// sorted labels. refused is the reason if it takes none (pkg/ingester/otlp, pkg/validation).
func pyroscopeSeries(m *collectorpb.ExportProfilesServiceRequest) (series []string, refused string) {
	d := m.Dictionary
	for _, rp := range m.ResourceProfiles {
		for _, sp := range rp.ScopeProfiles {
			for _, p := range sp.Profiles {
				text := func(i int32) string { return d.StringTable[i] }
				name := ""
				if p.Period != 0 {
					name = text(p.PeriodType.TypeStrindex)
				}
				id := []string{name, text(p.SampleType.TypeStrindex), text(p.SampleType.UnitStrindex), text(p.PeriodType.TypeStrindex), text(p.PeriodType.UnitStrindex)}
				if strings.Join(id[1:], ":") == "samples:count:cpu:nanoseconds" {
					id = []string{"process_cpu", "cpu", "nanoseconds", "cpu", "nanoseconds"}
				}
				for _, s := range p.Samples {
					labels := map[string]string{"__name__": id[0], "__delta__": "false", "__otel__": "true", "service_name": "shop"}
					add := func(key string, v *commonpb.AnyValue) {
						switch v := v.Value.(type) {
						case *commonpb.AnyValue_StringValue:
							labels[key] = v.StringValue
						case *commonpb.AnyValue_IntValue:
							labels[key] = fmt.Sprint(v.IntValue)
						}
					}
					for _, kv := range slices.Concat(rp.Resource.Attributes, sp.Scope.Attributes) {
						add(kv.Key, kv.Value)
					}
					for _, i := range s.AttributeIndices {
						add(text(d.AttributeTable[i].KeyStrindex), d.AttributeTable[i].Value)
					}
					var own []string
					for key, value := range labels {
						if len(value) > 2048 {
							return nil, "label value too long: " + key
						}
						if !strings.HasPrefix(key, "__") && !strings.HasPrefix(key, "service") {
							own = append(own, key+"="+value)
						}
					}
					if len(labels) > 30 || id[0] == "" {
						return nil, fmt.Sprintf("%d label names; name %q", len(labels), id[0])
					}
					slices.Sort(own)
					series = append(series, strings.Join(id, ":")+" "+strings.Join(own, ","))
				}
			}
		}
	}
	slices.Sort(series)
	return slices.Compact(series), ""
}

// With WithPyroscope every kind arrives, in few series, under the names of a push.
func TestPyroscope(t *testing.T) {
	attributes := func(n int) []attribute.KeyValue {
		all := []attribute.KeyValue{attribute.String("service.name", "shop"), attribute.String("service.instance.id", "x")}
		for i := range n {
			all = append(all, attribute.String(fmt.Sprintf("k8s.a%02d", i), "x"))
		}
		return all
	}
	labels := func(n int) map[string][]string {
		all := map[string][]string{"span_id": {"0123456789abcdef"}, "trace_id": {"0123456789abcdef0123456789abcdef"}}
		for i := range n {
			all[fmt.Sprintf("l%02d", i)] = []string{"x"}
		}
		return all
	}
	valueTypes := func(names ...string) (all []*profile.ValueType) {
		for _, name := range names {
			sample, unit, _ := strings.Cut(name, ":")
			all = append(all, &profile.ValueType{Type: sample, Unit: unit})
		}
		return all
	}
	contentions := valueTypes("contentions:count", "delay:nanoseconds")
	list := func(prefix string, n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("%s%02d=x", prefix, i))
		}
		return strings.Join(all, ",")
	}
	for _, tt := range []struct {
		name       string
		kind       exporter.Kind
		types      []*profile.ValueType
		period     *profile.ValueType
		attributes []attribute.KeyValue
		labels     map[string][]string
		want       []string
	}{
		{"CPU, dots", exporter.KindCPU, valueTypes("samples:count", "cpu:nanoseconds"), valueTypes("cpu:nanoseconds")[0], attributes(1), map[string][]string{"http.route": {"/"}, "ended_span_id": {"1"}}, []string{"process_cpu:cpu:nanoseconds:cpu:nanoseconds http_route=/,k8s_a00=x"}},
		{"40 labels", exporter.KindWall, valueTypes("wall:nanoseconds"), nil, attributes(28), labels(40), []string{"wall:wall:nanoseconds:wall:nanoseconds " + list("l", 24)}},
		{"heap", exporter.KindHeap, valueTypes("alloc_space:bytes", "inuse_space:bytes"), valueTypes("space:bytes")[0], attributes(0), nil, []string{"memory:alloc_space:bytes:memory:bytes ", "memory:inuse_space:bytes:memory:bytes "}},
		{"mutex", exporter.KindMutex, contentions, contentions[0], attributes(0), nil, []string{"mutex:contentions:count:mutex:count ", "mutex:delay:nanoseconds:mutex:count "}},
		{"block", exporter.KindBlock, contentions, contentions[0], attributes(0), nil, []string{"block:contentions:count:block:count ", "block:delay:nanoseconds:block:count "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Cleanup(report.Synchronous(new(errorLog).Handle))
			p := &profile.Profile{SampleType: tt.types, PeriodType: tt.period}
			if p.PeriodType != nil && tt.kind != exporter.KindWall {
				p.Period = 1e7
			}
			for i := range 40 {
				values := make([]int64, len(tt.types))
				for j := range values {
					values[j] = int64(1e7)
				}
				if tt.kind == exporter.KindCPU {
					values[0] = 1
				}
				p.Sample = append(p.Sample, &profile.Sample{Value: values, Label: tt.labels, NumLabel: map[string][]int64{"bytes": {int64(i)}}})
			}
			b := &backend{t: t}
			// The ids and the CPU time would be stored twice.
			e, err := otlp.New(otlp.WithPyroscope(), otlp.WithSpanIDAttributes(), otlp.WithCPUTime(), otlp.WithHTTPClient(&http.Client{Transport: b}))
			if err != nil {
				t.Fatal(err)
			}
			w := exporter.Window{Kind: tt.kind, Start: time.Now(), Duration: time.Second, Resource: resource.NewSchemaless(tt.attributes...)}
			if err := e.Export(t.Context(), exporter.NewParsedProfile(w, p)); err != nil {
				t.Fatal(err)
			}
			if err := e.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, messages := b.received()
			got, refused := pyroscopeSeries(messages[0])
			if diff := cmp.Diff(tt.want, got); diff != "" || refused != "" {
				t.Errorf("series (-want +got):\n%s, refused %q", diff, refused)
			}
		})
	}
}
