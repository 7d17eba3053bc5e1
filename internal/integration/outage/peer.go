// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp"
	"github.com/spanprof/spanprof/exporter/pyroscope"
)

// peer is an exporter with its defaults.
type peer struct {
	name  string
	every time.Duration // between two items
	start func(address string) (running, error)
}

// running is one that takes items: profiles or spans.
type running struct {
	give     func(context.Context)
	shutdown func(context.Context) error
	lost     func() string
}

var peers = []peer{
	{"exporter/pyroscope, profiles", 100 * time.Millisecond, func(address string) (running, error) {
		e, err := pyroscope.New("http://" + address)
		if err != nil {
			return running{}, err
		}
		return ours(e, e.Stats), nil
	}},
	{"exporter/otlp, profiles", 100 * time.Millisecond, func(address string) (running, error) {
		e, err := otlp.New(otlp.WithEndpoint(address), otlp.WithInsecure())
		if err != nil {
			return running{}, err
		}
		return ours(e, e.Stats), nil
	}},
	{"otlptracehttp behind a batch span processor, spans", 5 * time.Millisecond, batchProcessor},
}

func ours(e exporter.Exporter, stats func() exporter.LaneStatus) running {
	given := 0
	return running{
		give: func(ctx context.Context) {
			given++
			_ = e.Export(ctx, window(fmt.Sprintf("%016x", given))) // what fails is in the account
		},
		shutdown: e.Shutdown,
		lost: func() string {
			var reasons []string
			for _, l := range stats().Losses() {
				reasons = append(reasons, fmt.Sprintf("%d %s", l.N, l.Reason))
			}
			return cmp.Or(strings.Join(reasons, ", "), "none")
		},
	}
}

func batchProcessor(address string) (running, error) {
	e, err := otlptracehttp.New(context.Background(), otlptracehttp.WithEndpoint(address), otlptracehttp.WithInsecure())
	if err != nil {
		return running{}, err
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(e))
	tracer := p.Tracer("outage")
	return running{
		give: func(ctx context.Context) {
			_, span := tracer.Start(ctx, "GET /")
			span.End()
		},
		shutdown: p.Shutdown,
		lost:     func() string { return "not said" },
	}, nil
}

// window returns a CPU profile of one sample, of the span with that id, that ends now.
func window(id string) *exporter.Profile {
	f := &profile.Function{ID: 1, Name: "main.work"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	return exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: time.Now().Add(-time.Second), Duration: time.Second}, &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     1e7,
		Function:   []*profile.Function{f},
		Location:   []*profile.Location{l},
		Sample: []*profile.Sample{{
			Location: []*profile.Location{l},
			Value:    []int64{1, 1e7},
			Label:    map[string][]string{"span_id": {id}, "profile_id": {id}, "trace_id": {id + id}},
		}},
	})
}
