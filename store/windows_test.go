// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// of is inWindow for a service and its version.
func of(service, version string, n int, kind exporter.Kind, p *profile.Profile) *exporter.Profile {
	return exporter.NewParsedProfile(exporter.Window{
		Kind: kind, Start: epoch.Add(time.Duration(n) * step), Duration: step,
		Resource: resource.NewSchemaless(attribute.String("service.name", service), attribute.String("service.version", version)),
	}, p)
}

func TestWindows(t *testing.T) {
	s := newStore(t)
	if got := s.Windows(store.WindowQuery{}); len(got) != 0 {
		t.Error(got)
	}
	export(
		t, s,
		of("cart", "1.1", 1, exporter.KindCPU, cpuProfile(sample{"f", 3, nil}, sample{"g", 1, nil})),
		of("cart", "1.0", 0, exporter.KindCPU, cpuProfile(sample{"f", 2, nil})),
		of("shop", "7", 1, exporter.KindWall, cpuProfile()),
	)
	all := []store.WindowInfo{
		{Kind: exporter.KindCPU, Service: "cart", ServiceVersion: "1.0", Start: epoch, Duration: step, Samples: 2},
		{Kind: exporter.KindCPU, Service: "cart", ServiceVersion: "1.1", Start: epoch.Add(step), Duration: step, Samples: 4},
		{Kind: exporter.KindWall, Service: "shop", ServiceVersion: "7", Start: epoch.Add(step), Duration: step},
	}
	for _, test := range []struct {
		q    store.WindowQuery
		want []store.WindowInfo
	}{
		{store.WindowQuery{}, all},
		{store.WindowQuery{Kind: exporter.KindCPU}, all[:2]},
		{store.WindowQuery{Service: "shop"}, all[2:]},
		{store.WindowQuery{From: epoch.Add(step)}, all[1:]},
		{store.WindowQuery{Until: epoch.Add(step)}, all[:1]},
	} {
		got := s.Windows(test.q)
		for i := range got {
			if got[i].Bytes <= 0 {
				t.Error("bytes:", got[i].Bytes)
			}
			got[i].Bytes = 0
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// Versions of a service differ in the resource, unless a sample has a label of that
// name.
func TestServiceMatchers(t *testing.T) {
	s := newStore(t)
	export(
		t, s,
		of("cart", "1.0", 0, exporter.KindCPU, cpuProfile(sample{"a", 1, nil}, sample{"b", 1, labels("service_name", "proxied")})),
		of("cart", "1.1", 1, exporter.KindCPU, cpuProfile(sample{"c", 1, nil})),
		of("shop", "1.1", 2, exporter.KindCPU, cpuProfile(sample{"d", 1, labels("service_version", "2")})),
	)
	for _, test := range []struct {
		label string
		op    store.MatchOp
		value string
		want  string
	}{
		{"service_name", store.MatchEqual, "cart", "ac"},
		{"service_name", store.MatchNotEqual, "cart", "bd"},
		{"service_name", store.MatchEqual, "proxied", "b"},
		{"service_version", store.MatchEqual, "1.1", "c"},
		{"service_version", store.MatchRegexp, "1.*", "abc"},
		{"service_version", store.MatchEqual, "2", "d"},
	} {
		var got strings.Builder
		for _, line := range folded(selectCPU(t, s, matcher(t, test.label, test.op, test.value))) {
			got.WriteString(line[:1])
		}
		if got.String() != test.want {
			t.Errorf("%s %d %q: got %s, want %s", test.label, test.op, test.value, got.String(), test.want)
		}
	}
}

func TestTimeline(t *testing.T) {
	s := newStore(t)
	if got, err := s.Timeline(store.Query{Kind: exporter.KindCPU}, 3); err != nil || len(got.Buckets) != 0 {
		t.Error("empty store:", got, err)
	}
	named := func(name string) map[string]string { return labels("span_name", name) }
	export(
		t, s,
		of("cart", "", 2, exporter.KindCPU, cpuProfile(sample{"f", 1, named("a")}, sample{"f", 1, named("c")})),
		of("cart", "", 0, exporter.KindCPU, cpuProfile(sample{"f", 3, named("a")}, sample{"f", 5, named("b")}, sample{"f", 9, nil})),
		of("shop", "", 0, exporter.KindCPU, cpuProfile(sample{"g", 2, named("a")})),
		of("shop", "", 1, exporter.KindCPU, cpuProfile()),
		of("shop", "", 1, exporter.KindWall, cpuProfile(sample{"g", 100, named("z")})),
	)
	got, err := s.Timeline(store.Query{Kind: exporter.KindCPU, SampleType: "samples"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	want := &store.Timeline{
		SampleType: "samples", Unit: "count", Names: []string{"a", "b"},
		Buckets: []store.TimelineBucket{
			{Start: epoch, Duration: step, Values: []int64{5, 5}, Rest: 9},
			{Start: epoch.Add(step), Duration: step, Values: []int64{0, 0}},
			{Start: epoch.Add(2 * step), Duration: step, Values: []int64{1, 0}, Rest: 1},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got, err = s.Timeline(store.Query{Kind: exporter.KindCPU, From: epoch.Add(2 * step), Matchers: []store.Matcher{matcher(t, "span_name", store.MatchEqual, "c")}}, -1)
	if err != nil || len(got.Names) != 0 || len(got.Buckets) != 1 || got.Buckets[0].Rest != int64(tick) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.Timeline(store.Query{Kind: exporter.KindCPU, SampleType: "none"}, 1); !errors.Is(err, store.ErrUnknownSampleType) {
		t.Error(err)
	}
}

// Momentary values have a bucket for each window, with all services at that moment.
func TestMomentaryTimeline(t *testing.T) {
	s := newStore(t)
	heap := func(service string, start, duration time.Duration, inUse int64) {
		t.Helper()
		p := cpuProfile(sample{"main;f", 1, nil}, sample{"main;g", 1, labels("span_name", "a")})
		p.SampleType = []*profile.ValueType{{Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_space", Unit: "bytes"}}
		p.Sample[0].Value, p.Sample[1].Value = []int64{7, inUse}, []int64{0, 1}
		export(t, s, exporter.NewParsedProfile(exporter.Window{
			Kind: exporter.KindHeap, Start: epoch.Add(start), Duration: duration,
			Resource: resource.NewSchemaless(attribute.String("service.name", service)),
		}, p))
	}
	const second = time.Second
	for i := range time.Duration(4) {
		// The ends of windows have other clocks.
		heap("cart", 10*i*second, 10*second+time.Millisecond, int64(1000+i))
	}
	timeline := func(sampleType string) *store.Timeline {
		t.Helper()
		got, err := s.Timeline(store.Query{Kind: exporter.KindHeap, SampleType: sampleType}, 3)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	rests := func(timeline *store.Timeline) (rests []int64) {
		for _, b := range timeline.Buckets {
			rests = append(rests, b.Rest)
		}
		return rests
	}
	got := timeline("inuse_space")
	if diff := cmp.Diff([]int64{1000, 1001, 1002, 1003}, rests(got)); diff != "" || !got.Momentary || got.Names[0] != "a" || got.Buckets[3].Values[0] != 1 {
		t.Error(diff, got)
	}
	if got := timeline("alloc_space"); got.Momentary || !slices.Equal(rests(got), []int64{7, 7, 7, 7}) {
		t.Errorf("%+v", got)
	}
	// One that began later and one that went.
	heap("shop", 15*second, 10*second, 50)
	heap("gone", 0, 10*second, 200)
	got = timeline("inuse_space")
	if diff := cmp.Diff([]int64{1200, 1001, 1051, 1052, 1003}, rests(got)); diff != "" {
		t.Error(diff)
	}
	var named []int64
	for _, b := range got.Buckets {
		named = append(named, b.Values[0])
	}
	if diff := cmp.Diff([]int64{2, 1, 2, 2, 1}, named); diff != "" {
		t.Error(diff)
	}
	if got := timeline("alloc_space"); !slices.Equal(rests(got), []int64{14, 7, 7, 7, 7}) {
		t.Errorf("%+v", got)
	}
	// A selection still has the latest of each service.
	sel, err := s.Select(store.Query{Kind: exporter.KindHeap, SampleType: "inuse_space"})
	if err != nil || sel.Total != 1003+50+200+3 {
		t.Errorf("%d, %v", sel.Total, err)
	}
}

func TestKinds(t *testing.T) {
	s := newStore(t)
	ids := labels("profile_id", "00000000000000aa", "span_id", "00000000000000aa")
	export(
		t, s,
		of("cart", "", 0, exporter.KindWall, cpuProfile(sample{"f", 30, ids}, sample{"g", 1, ids}, sample{"g", 7, labels("team", "x")})),
		of("cart", "", 0, exporter.KindCPU, cpuProfile(sample{"f", 3, ids}, sample{"g", 5, nil})),
		of("cart", "", 1, exporter.KindCPU, cpuProfile(sample{"f", 4, ids}, sample{"g", 5, nil})),
		of("cart", "", 1, exporter.KindGoroutine, cpuProfile(sample{"g", 5, nil})),
	)
	byID := matcher(t, "span_id", store.MatchEqual, "00000000000000aa")
	if diff := cmp.Diff([]store.KindTotal{{exporter.KindCPU, 7, 2}, {exporter.KindWall, 31, 1}}, s.Kinds(store.Query{Kind: "x", Matchers: []store.Matcher{byID}})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]store.KindTotal{{exporter.KindCPU, 8, 1}, {exporter.KindWall, 38, 1}}, s.Kinds(store.Query{Until: epoch.Add(step)})); diff != "" {
		t.Error(diff)
	}
	if got, _ := s.Span("00000000000000aa"); got.CPUSamples != 7 || got.WallSamples != 31 || got.SamplesHeld != 38 {
		t.Errorf("%+v", got)
	}
}
