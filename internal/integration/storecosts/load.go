// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// epoch is when the first window starts, length how long one lasts.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const length = 10 * time.Second

// program has 2,000 stacks of 30 frames, with common roots, of 3,000 functions.
type program struct {
	rand   *rand.Rand
	whole  *profile.Profile
	stacks [][]*profile.Location
}

func newProgram() *program {
	main := &profile.Mapping{ID: 1, Start: 0x400000, Limit: 0x4000000, File: "/bin/shop", HasFunctions: true}
	p := &program{rand: rand.New(rand.NewPCG(1, 2)), whole: &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1e7,
		Mapping: []*profile.Mapping{main},
	}}
	for i := range 3000 {
		name := fmt.Sprintf("example.org/shop/internal/package%d.(*Type%d).Method%d", i%90, i%400, i)
		f := &profile.Function{ID: uint64(i + 1), Name: name, SystemName: name, Filename: fmt.Sprintf("/src/package%d/file%d.go", i%90, i%300)}
		l := &profile.Location{ID: f.ID, Mapping: main, Address: 0x400000 + 64*f.ID, Line: []profile.Line{{Function: f, Line: int64(i)}}}
		p.whole.Function, p.whole.Location = append(p.whole.Function, f), append(p.whole.Location, l)
	}
	for range 2000 {
		stack := make([]*profile.Location, 30)
		for i := range stack {
			// The nearer to the root, the fewer functions.
			stack[len(stack)-1-i] = p.whole.Location[p.rand.IntN(min(3000, 2<<(i/2)))]
		}
		p.stacks = append(p.stacks, stack)
	}
	return p
}

// samples returns a profile of n samples. Five belong to one span.
func (p *program) samples(n int) *profile.Profile {
	of := &profile.Profile{
		SampleType: p.whole.SampleType, PeriodType: p.whole.PeriodType, Period: p.whole.Period,
		Mapping: p.whole.Mapping, Location: p.whole.Location, Function: p.whole.Function,
		Sample: make([]*profile.Sample, n),
	}
	var labels map[string][]string
	for i := range of.Sample {
		if i%5 == 0 {
			id := []string{fmt.Sprintf("%016x", p.rand.Uint64()|1)}
			labels = map[string][]string{
				"profile_id": id, "span_id": id,
				"trace_id":  {fmt.Sprintf("%016x%016x", p.rand.Uint64()|1, p.rand.Uint64())},
				"span_name": {fmt.Sprint("GET /", p.rand.IntN(40))},
			}
		}
		// Stacks are as uneven as in life.
		stack := p.stacks[p.rand.IntN(1+p.rand.IntN(len(p.stacks)))]
		of.Sample[i] = &profile.Sample{Location: stack, Value: []int64{1, 1e7}, Label: labels}
	}
	return of
}

// window returns the n-th window of CPU; without samples if p is nil.
func window(n int, p *profile.Profile) *exporter.Profile {
	if p == nil {
		p = &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
			PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1e7,
		}
	}
	return exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: epoch.Add(time.Duration(n) * length), Duration: length}, p)
}

// record starts and ends n spans.
func record(s *store.Store, n int) {
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor())).Tracer("storecosts")
	for i := range n {
		_, span := tracer.Start(context.Background(), fmt.Sprint("GET /", i%40), trace.WithAttributes(attribute.String("http.route", "/")))
		span.End()
	}
}
