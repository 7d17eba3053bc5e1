// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// load is how much is measured.
type load struct {
	// spans are measured, held are in the store before.
	spans, held int
}

const (
	// ofProfile are the samples of a window, each of a span of its own: what 10 s of a
	// busy processor are.
	ofProfile = 1000
	// shown is about how many of the spans that are held have pages.
	shown = 200
)

var service = resource.NewSchemaless(attribute.String("service.name", "spanlatency"))

// measure measures what starts and ends take beside a row's goroutines.
func (l *load) measure(r *row) (round, error) {
	s, err := store.New()
	if err != nil {
		return round{}, err
	}
	t := &timed{SpanProcessor: s.SpanProcessor()}
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(t), sdktrace.WithResource(service)).Tracer("spanlatency")
	held := l.fill(tracer)
	if err := s.Export(context.Background(), window(0, held)); err != nil {
		return round{}, err
	}
	t.starts, t.ends = make([]time.Duration, 0, l.spans), make([]time.Duration, 0, l.spans)

	var (
		others, work      sync.WaitGroup
		stop              atomic.Bool
		served, bad       atomic.Int64
		exported, refused atomic.Int64
		addresses         []string
		handler           = viewer.Handler(s)
	)
	if r.read != nil {
		addresses = r.read(held)
	}
	for i := range r.beside {
		others.Go(func() {
			if len(addresses) == 0 {
				burn(&stop)
				return
			}
			for n := i; !stop.Load(); n++ {
				answer := httptest.NewRecorder()
				handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, addresses[n%len(addresses)], http.NoBody))
				if answer.Code != http.StatusOK {
					bad.Add(1)
				}
				served.Add(1)
			}
		})
	}
	if r.exports {
		others.Go(func() {
			for n := 1; !stop.Load(); n++ {
				if s.Export(context.Background(), window(n, held)) != nil {
					refused.Add(1)
				}
				exported.Add(1)
			}
		})
	}
	from := time.Now()
	for range 2 {
		work.Go(func() {
			for i := range l.spans / 2 {
				_, span := tracer.Start(context.Background(), fmt.Sprint("GET /", i%20), spanAttributes())
				span.End()
				if i%10 == 0 {
					// A request waits for something.
					time.Sleep(10 * time.Microsecond)
				}
			}
		})
	}
	work.Wait()
	took := time.Since(from)
	stop.Store(true)
	others.Wait()
	if bad.Load() > 0 {
		return round{}, fmt.Errorf("%d of %d pages are errors", bad.Load(), served.Load())
	}
	if refused.Load() > 0 {
		return round{}, fmt.Errorf("%d of %d profiles were refused", refused.Load(), exported.Load())
	}
	return round{
		starts: newTimes(t.starts), ends: newTimes(t.ends),
		pages: float64(served.Load()) / took.Seconds(), windows: float64(exported.Load()) / took.Seconds(),
	}, nil
}

// fill records spans, and returns those that are looked at: they are spread over all.
func (l *load) fill(tracer trace.Tracer) (some []trace.SpanContext) {
	for i := range l.held {
		_, span := tracer.Start(context.Background(), fmt.Sprint("GET /", i%20), spanAttributes())
		if i%(l.held/shown+1) == 0 {
			some = append(some, span.SpanContext())
		}
		span.End()
	}
	return some
}

// pages are what is behind the links on spans.
func pages(of []trace.SpanContext) (addresses []string) {
	for _, span := range of {
		addresses = append(addresses, address("query", fmt.Sprintf(".cpu{profile_id=%q}", span.SpanID())))
	}
	return addresses
}

// lists are what a search for an id asks for.
func lists(of []trace.SpanContext) (addresses []string) {
	for _, span := range of {
		addresses = append(addresses, address("filter", span.SpanID().String()), address("trace", span.TraceID().String()))
	}
	return addresses
}

func both(of []trace.SpanContext) []string { return append(pages(of), lists(of)...) }

func address(name, value string) string {
	return "http://localhost/?" + url.Values{"format": {"json"}, name: {value}}.Encode()
}

// window returns the n-th window of CPU: samples of stacks of 20 frames, in spans that are
// held in turn.
func window(n int, held []trace.SpanContext) *exporter.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1e7,
	}
	for i := range 200 {
		f := &profile.Function{ID: uint64(i + 1), Name: fmt.Sprintf("example.org/shop/package%d.Function%d", i%20, i)}
		p.Function = append(p.Function, f)
		p.Location = append(p.Location, &profile.Location{ID: f.ID, Address: f.ID, Line: []profile.Line{{Function: f, Line: 1}}})
	}
	for i := range ofProfile {
		of := held[i%len(held)]
		id := []string{of.SpanID().String()}
		s := &profile.Sample{Value: []int64{1, 1e7}, Label: map[string][]string{"profile_id": id, "span_id": id, "trace_id": {of.TraceID().String()}, "span_name": {"GET /"}}}
		for depth := range 20 {
			s.Location = append(s.Location, p.Location[(i*7+depth*depth)%len(p.Location)])
		}
		p.Sample = append(p.Sample, s)
	}
	start := time.Now().Add(time.Duration(n-1) * 10 * time.Second)
	return exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: start, Duration: 10 * time.Second, Resource: service}, p)
}

// burn takes CPU time until it is stopped.
func burn(stop *atomic.Bool) {
	x := uint64(1)
	for !stop.Load() {
		for range 10_000 {
			x = x*6364136223846793005 + 1442695040888963407
		}
	}
	_ = x
}
