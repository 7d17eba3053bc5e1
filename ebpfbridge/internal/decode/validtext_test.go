// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
)

// Texts that become equal as UTF-8 are one.
func TestTextsThatBecomeTheSame(t *testing.T) {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}}}
	for i, text := range []string{"x\xff", "x\xfe", "x\uFFFD"} {
		m := &profile.Mapping{ID: uint64(i + 1), Start: 1, Limit: 2, File: text, BuildID: text}
		f := &profile.Function{ID: uint64(i + 1), Name: text, SystemName: text, Filename: text}
		l := &profile.Location{ID: uint64(i + 1), Mapping: m, Line: []profile.Line{{Function: f}}}
		p.Mapping, p.Function, p.Location = append(p.Mapping, m), append(p.Function, f), append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{
			Value:    []int64{1},
			Location: []*profile.Location{l},
			Label:    map[string][]string{"text": {text}, "texts": {"a", text}},
			NumLabel: map[string][]int64{"number": {1}},
			NumUnit:  map[string][]string{"number": {text}},
		})
	}
	p.Sample = append(p.Sample, &profile.Sample{
		Value:    []int64{1},
		Label:    map[string][]string{"k\xfe": {"a"}, "k\xff": {"b\xff"}},
		NumLabel: map[string][]int64{"n\xfe": {1}, "n\xff": {2}},
		NumUnit:  map[string][]string{"n\xff": {"bytes"}},
	})
	_, got := decoded(t, request(t, exporter.NewParsedProfile(window, p)))
	for i, s := range got.Sample[:3] {
		if s.Location[0] != got.Sample[0].Location[0] {
			t.Errorf("sample %d has a location of its own", i)
		}
		if diff := cmp.Diff(map[string][]string{"text": {"x\uFFFD"}, "texts": {"a", "x\uFFFD"}}, s.Label); diff != "" {
			t.Errorf("sample %d: %s", i, diff)
		}
	}
	last := got.Sample[3]
	if diff := cmp.Diff(map[string][]string{"k\uFFFD": {"a", "b\uFFFD"}}, last.Label); diff != "" {
		t.Errorf("labels: %s", diff)
	}
	if diff := cmp.Diff(map[string][]int64{"n\uFFFD": {1, 2}}, last.NumLabel); diff != "" {
		t.Errorf("numbers: %s", diff)
	}
	if diff := cmp.Diff(map[string][]string{"n\uFFFD": {"", "bytes"}}, last.NumUnit); diff != "" {
		t.Errorf("units: %s", diff)
	}
}

func TestResourceKeysThatBecomeTheSame(t *testing.T) {
	w := window
	w.Resource = resource.NewSchemaless(attribute.String("k\xfe", "a"), attribute.String("k\xff", "b"), attribute.String("z", "c"))
	e, _ := decoded(t, request(t, exporter.NewParsedProfile(w, twoColumns())))
	if got := e.Resource().String(); got != "k\uFFFD=b,z=c" {
		t.Errorf("resource %s, want the last value", got)
	}
}
