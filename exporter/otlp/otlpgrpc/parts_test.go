// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpgrpc_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp"
	"github.com/spanprof/spanprof/exporter/otlp/otlpgrpc"
	"github.com/spanprof/spanprof/internal/report/reporttest"
)

// A profile of 5 MB goes in parts of 2 MB, which Pyroscope takes at once: a server of
// gRPC's would take 4 MiB.
func TestLargerThanTheServerTakes(t *testing.T) {
	reporttest.Handle(t, new(errorLog).Handle)
	b, _ := start(t, healthy)
	e, err := otlpgrpc.New(otlp.WithEndpointURL("http://" + b.target))
	if err != nil {
		t.Fatal(err)
	}
	f := &profile.Function{ID: 1, Name: "main.main", Filename: "main.go"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}}, Function: []*profile.Function{f}, Location: []*profile.Location{l}}
	for i := range 5_000 {
		p.Sample = append(p.Sample, &profile.Sample{Location: p.Location, Value: []int64{1}, Label: map[string][]string{"key": {strings.Repeat("x", 1<<10) + strconv.Itoa(i)}}})
	}
	if err := e.Export(t.Context(), exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: time.Now()}, p)); err != nil {
		t.Error(err)
	}
	idle := exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: time.Now()}, &profile.Profile{SampleType: p.SampleType})
	if err := e.Export(t.Context(), idle); err != nil {
		t.Error(err)
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if calls, _ := b.seen(); calls != 4 || e.Status().Exported != 5 {
		t.Errorf("%d calls, %+v, want 4 calls for one profile, and none for an empty one", calls, e.Status())
	}
}

// What the server repeats of a credential is not reported.
func TestRepeatedCredential(t *testing.T) {
	log := new(errorLog)
	reporttest.Handle(t, log.Handle)
	b, _ := start(t, func(context.Context, int) (*collectorpb.ExportProfilesServiceResponse, error) {
		return nil, status.Error(codes.Unauthenticated, "Bearer secret99 is unknown: secret99")
	})
	e := export(t, otlp.WithEndpointURL("http://"+b.target), otlp.WithHeaders(map[string]string{"authorization": "Bearer secret99"}))
	if err := e.Shutdown(t.Context()); err == nil || strings.Contains(err.Error(), "secret99") {
		t.Errorf("Shutdown: %v", err)
	}
	if got := log.String(); !strings.Contains(got, "[redacted] is unknown: [redacted]") || strings.Contains(got, "secret99") {
		t.Errorf("reported %s", got)
	}
}

// Timestamps arrive with the option.
func TestTimestamps(t *testing.T) {
	b, _ := start(t, healthy)
	e, err := otlpgrpc.New(otlp.WithEndpointURL("http://"+b.target), otlp.WithSampleTimestamps())
	if err != nil {
		t.Fatal(err)
	}
	p := newProfile()
	parsed, err := p.Parsed()
	if err != nil {
		t.Fatal(err)
	}
	times := make([]int64, parsed.Sample[0].Value[0])
	for i := range times {
		times[i] = p.Start().UnixNano() + int64(i)
	}
	window := exporter.Window{Kind: p.Kind(), Start: p.Start(), Duration: p.Duration(), Resource: p.Resource()}
	if err := e.Export(t.Context(), exporter.NewParsedProfile(window, parsed, [][]int64{times}...)); err != nil {
		t.Error(err)
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if got := b.last.ResourceProfiles[0].ScopeProfiles[0].Profiles[0].Samples[0].TimestampsUnixNano; len(got) != len(times) || got[0] != uint64(times[0]) {
		t.Errorf("timestamps %v, want %v", got, times)
	}
}
