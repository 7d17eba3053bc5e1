// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/labelkey"
)

func TestHost(t *testing.T) {
	exported := new(exportertest.Recorder)
	h, err := NewHost(exported)
	if err != nil {
		t.Fatal(err)
	}
	m := newMessage()
	m.process(100, m.record(1, []uint64{1, 2}, "span_id", searchID, "profile_id", searchID, "span_name", "search"))
	m.process(200, m.record(1, []uint64{3}, "span_id", checkoutID, "profile_id", searchID))
	m.process(300, m.record(2, []uint64{4, 5, 6}))
	s := m.ResourceProfiles[2].ScopeProfiles[0].Profiles[0].Samples[0]
	m.attribute(s, "thread.name", &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: "worker"}})
	m.attribute(s, "cpu.logical_number", number(3))
	r := m.ResourceProfiles[0].GetResource()
	r.Attributes = append(r.Attributes, &commonpb.KeyValue{Key: "container.id", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: "c1"}}})
	for i, name := range []string{"", "process.executable.name", "service.name"} {
		if name != "" {
			r := m.ResourceProfiles[i].GetResource()
			r.Attributes = append(r.Attributes, &commonpb.KeyValue{Key: name, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: name}}})
		}
	}
	conn := dial(t, serveTCP(t, h.core, h.take))
	if err := export(t, conn, m.ExportProfilesServiceRequest); err != nil {
		t.Fatal(err)
	}
	var services, labels []string
	for _, p := range exported.Profiles() {
		v, _ := p.Resource().Set().Value("service.name")
		services = append(services, v.AsString())
		if p.Kind() != exporter.KindHost {
			t.Errorf("kind %s, want host", p.Kind())
		}
	}
	for s := range samplesOf(t, exported) {
		of := func(label string) string { return strings.Join(s.Label[label], "") }
		labels = append(labels, strings.Join([]string{of(LabelProcess), of(labelkey.ProfileID), of(labelkey.SpanID), of(labelkey.SpanAttribution), of(LabelThread) + of(LabelCPU) + of(LabelContainer)}, " "))
	}
	if want := []string{"(no executable)", "process.executable.name", "service.name"}; !slices.Equal(services, want) {
		t.Errorf("services %q, want %q", services, want)
	}
	want := []string{
		"100 " + searchID + "  first c1", "100   ambiguous c1",
		"200 " + searchID + " " + checkoutID + " first ", // a span below the profile's span
		"300    worker3", // without labels, so without spans
	}
	if !slices.Equal(labels, want) {
		t.Errorf("labels %q, want %q", labels, want)
	}
	if s := h.Status(); s.Messages != 1 || s.First != 2 || s.Ambiguous != 1 || s.Spanless != 3 {
		t.Errorf("%+v, want 2 first samples, 1 ambiguous one and 3 without spans", s)
	}

	m.process(400, m.record(77, []uint64{1}))
	if err := export(t, conn, m.ExportProfilesServiceRequest); status.Code(err) != codes.InvalidArgument {
		t.Errorf("an index out of range: %v", err)
	}
	if len(exported.Profiles()) != 3 {
		t.Errorf("got %d profiles, want nothing of a malformed message", len(exported.Profiles()))
	}
	if _, err := NewHost(nil); err == nil {
		t.Error("no error without an exporter")
	}
}

// What no agent measures spoils no sums: it is refused, or counted as no CPU profile.
func TestImplausible(t *testing.T) {
	for name, tt := range map[string]struct {
		change            func(m message, p *profilespb.Profile)
		refused, other, n int
	}{
		"nothing":       {func(message, *profilespb.Profile) {}, 0, 0, 1},
		"a long period": {func(_ message, p *profilespb.Profile) { p.Period = math.MaxInt64 }, 1, 0, 0},
		"no period":     {func(_ message, p *profilespb.Profile) { p.Period = 0 }, 0, 1, 0},
		"no time":       {func(_ message, p *profilespb.Profile) { p.TimeUnixNano = 0 }, 1, 0, 0},
		"back in time":  {func(_ message, p *profilespb.Profile) { p.DurationNano = math.MaxUint64 }, 1, 0, 0},
	} {
		exported := new(exportertest.Recorder)
		h, err := NewHost(exported)
		if err != nil {
			t.Fatal(err)
		}
		m := newMessage()
		m.process(100, m.record(1, []uint64{1, 2}))
		tt.change(m, m.GetResourceProfiles()[0].GetScopeProfiles()[0].GetProfiles()[0])
		err = h.take(t.Context(), "", m.ExportProfilesServiceRequest)
		if s, n := h.Status(), len(exported.Profiles()); s.Other != tt.other || n != tt.n || (err != nil) != (tt.refused > 0) {
			t.Errorf("%s: %v, %d profiles, %+v", name, err, n, s)
		}
	}
}
