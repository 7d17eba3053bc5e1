// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/report/reporttest"
)

// largeProfile returns a CPU profile of n samples, each with a label of 120 kB and its own
// span. The id is the number of the sample.
func largeProfile(n int) *exporter.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     1e7,
	}
	for i := range 500 {
		name := fmt.Sprintf("example.com/shop/internal/pkg%d.(*Service).Method%d", i/100, i)
		f := &profile.Function{ID: uint64(i + 1), Name: name, SystemName: name, Filename: fmt.Sprintf("/src/shop/internal/pkg%d/service.go", i/100)}
		p.Function = append(p.Function, f)
		p.Location = append(p.Location, &profile.Location{ID: uint64(i + 1), Address: uint64(i), Line: []profile.Line{{Function: f, Line: 1}}})
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		s := &profile.Sample{Value: []int64{1, 1e7}, Label: map[string][]string{
			"trace_id": {fmt.Sprintf("%032x", i+1)}, "span_id": {fmt.Sprintf("%016x", i+1)}, "key": {strings.Repeat("x", 120_000) + strconv.Itoa(i)},
		}}
		for range 3 {
			s.Location = append(s.Location, p.Location[r.IntN(len(p.Location))])
		}
		p.Sample = append(p.Sample, s)
	}
	return exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: time.Now().Add(-time.Second), Duration: time.Second}, p)
}

// spans returns how often a sample of each span has arrived.
func spans(messages []*collectorpb.ExportProfilesServiceRequest) map[string]int {
	times := map[string]int{}
	for _, m := range messages {
		for _, s := range m.ResourceProfiles[0].ScopeProfiles[0].Profiles[0].Samples {
			times[string(m.Dictionary.LinkTable[s.LinkIndex].SpanId)]++
		}
	}
	return times
}

// A profile that is larger than servers take arrives in parts, each of them once, although one
// attempt fails.
func TestLargeProfileArrivesInParts(t *testing.T) {
	reporttest.Handle(t, new(errorLog).Handle)
	synctest.Test(t, func(t *testing.T) {
		const samples = 40
		b := &backend{t: t}
		fail := 2 // the second request fails, and no other
		b.fault = func(b *backend, w http.ResponseWriter, r *http.Request) {
			if fail--; fail == 0 {
				status(http.StatusServiceUnavailable, "")(b, w, r)
				return
			}
			b.receive(r)
			answer(w, new(collectorpb.ExportProfilesServiceResponse))
		}
		e := newExporter(t, b)
		for range 2 {
			if err := e.Export(t.Context(), largeProfile(samples)); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		_, messages := b.received()
		want := map[string]int{}
		for i := range samples {
			want[string(binary.BigEndian.AppendUint64(nil, uint64(i+1)))] = 2
		}
		if got := spans(messages); !maps.Equal(want, got) {
			t.Errorf("%d spans arrived, want each of %d twice", len(got), len(want))
		}
		starts := map[uint64]bool{}
		for _, m := range messages {
			p := m.ResourceProfiles[0].ScopeProfiles[0].Profiles[0]
			starts[p.TimeUnixNano] = true
			if n := proto.Size(m); n > 4<<20 {
				t.Errorf("a message of %d samples and %d bytes", len(p.Samples), n)
			}
		}
		if len(starts) < len(messages)/2 || len(messages) < 4 || len(messages) > 2*4 {
			t.Errorf("%d messages with %d times", len(messages), len(starts))
		}
		if s := e.Status(); s.Exported != uint64(len(messages)) || s.Taken != s.Exported || s.Retries == 0 {
			t.Errorf("%+v, want each of %d parts exported, after a retry", s, len(messages))
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Pyroscope makes a pprof profile of each type of sample in a message. It takes 2 MB at once.
func TestPartsFitPyroscope(t *testing.T) {
	reporttest.Handle(t, new(errorLog).Handle)
	for _, types := range []int{1, 4} {
		p := &profile.Profile{}
		for i := range types {
			p.SampleType = append(p.SampleType, &profile.ValueType{Type: fmt.Sprintf("type%d", i), Unit: "bytes"})
		}
		for i := range 3000 {
			f := &profile.Function{ID: uint64(i + 1), Name: fmt.Sprintf("example.com/shop/internal/pkg%d.(*Service).Method%d", i/100, i)}
			p.Function = append(p.Function, f)
			p.Location = append(p.Location, &profile.Location{ID: uint64(i + 1), Address: uint64(i + 1), Line: []profile.Line{{Function: f, Line: 1}}})
		}
		// Many spans on few stacks: a message holds each stack once, pprof does not.
		for i := range 12_000 {
			s := &profile.Sample{Value: make([]int64, types), Label: map[string][]string{"trace_id": {fmt.Sprintf("%032x", i+1)}, "span_id": {fmt.Sprintf("%016x", i+1)}}}
			for d := range 80 {
				s.Location = append(s.Location, p.Location[(i/40*10+d)%len(p.Location)])
			}
			s.Value[0] = 1
			p.Sample = append(p.Sample, s)
		}
		b := &backend{t: t}
		e := newExporter(t, b)
		w := exporter.Window{Kind: exporter.KindHeap, Start: time.Now().Add(-time.Second), Duration: time.Second}
		if err := e.Export(t.Context(), exporter.NewParsedProfile(w, p)); err != nil {
			t.Fatal(err)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		_, messages := b.received()
		samples := 0
		for _, m := range messages {
			profiles := m.ResourceProfiles[0].ScopeProfiles[0].Profiles
			if len(profiles) != types {
				t.Errorf("%d profiles, want %d", len(profiles), types)
			}
			samples += len(profiles[0].Samples)
		}
		// The pprof form has about 240 bytes a sample.
		if want := types * len(p.Sample) * 240 / 2_000_000; len(messages) < want {
			t.Errorf("%d types: %d messages, want at least %d", types, len(messages), want)
		}
		if samples != len(p.Sample) {
			t.Errorf("%d types: %d samples arrived in %d messages, want %d", types, samples, len(messages), len(p.Sample))
		}
	}
}

// A part that the server will never take is reported, and the others arrive.
func TestRejectedPart(t *testing.T) {
	log := new(errorLog)
	reporttest.Handle(t, log.Handle)
	b := &backend{t: t}
	rejected := false
	b.fault = func(b *backend, w http.ResponseWriter, r *http.Request) {
		if !rejected {
			rejected = true
			status(http.StatusBadRequest, "no such unit")(b, w, r)
			return
		}
		b.receive(r)
		answer(w, new(collectorpb.ExportProfilesServiceResponse))
	}
	e := newExporter(t, b)
	if err := e.Export(t.Context(), largeProfile(40)); err != nil {
		t.Fatal(err)
	}
	if err := e.Shutdown(t.Context()); err == nil {
		t.Error("Shutdown: want the loss")
	}
	if _, messages := b.received(); len(messages) == 0 || e.Status().Lost["rejected"] != 1 || !strings.Contains(log.String(), "no such unit") {
		t.Errorf("%d messages, %+v, reported %s", len(messages), e.Status(), log)
	}
}

// A window without samples is counted apart, and nothing of it is sent.
func TestEmptyProfile(t *testing.T) {
	b := &backend{t: t}
	e := newExporter(t, b)
	idle := exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: time.Now()}, &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}},
	})
	if err := e.Export(t.Context(), idle); err != nil {
		t.Error(err)
	}
	export(t, e, 1)
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if requests, _ := b.received(); len(requests) != 1 || e.Status().Exported != 2 {
		t.Errorf("%d requests, %+v, want one request", len(requests), e.Status())
	}
}
