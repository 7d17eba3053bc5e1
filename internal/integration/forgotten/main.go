// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Forgotten prints what wrappers of tracer providers leave behind where a program
// forgets to end a child span: goroutines, as those of keep-alive connections, serve
// requests whose handler starts a span, defers its End, and starts a child that it
// never ends. Then they wait for the next request.
//
//	go run ./internal/integration/forgotten
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"text/tabwriter"

	"github.com/google/pprof/profile"
	grafana "github.com/grafana/otel-profiling-go"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
)

// candidate is a way to label spans, by its provider.
type candidate struct {
	name string
	tp   trace.TracerProvider
}

func candidates() []candidate {
	sdk := sdktrace.NewTracerProvider()
	all := spanprof.WithRootSpanOnly(false)
	return []candidate{
		{"bare SDK", sdk},
		{"spanprof, root scope", spanprof.NewTracerProvider(sdk)},
		{"spanprof, all spans", spanprof.NewTracerProvider(sdk, all)},
		{"spanprof, public API, root scope", spanprof.NewTracerProvider(sdk, spanprof.WithPublicLabelsOnly())},
		{"spanprof, public API, all spans", spanprof.NewTracerProvider(sdk, spanprof.WithPublicLabelsOnly(), all)},
		{"spanprof.SpanProcessor, root scope", sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spanprof.NewSpanProcessor()))},
		{"spanprof.SpanProcessor, all spans", sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spanprof.NewSpanProcessor(all)))},
		{"otel-profiling-go v0.7.0, root scope", grafana.NewTracerProvider(sdk)},
		{"otel-profiling-go v0.7.0, all spans", grafana.NewTracerProvider(sdk, grafana.WithSpanIDLabelScope(grafana.ScopeAllSpans), grafana.WithSpanNameLabelScope(grafana.ScopeAllSpans))},
	}
}

func main() {
	goroutines := flag.Int("goroutines", 500, "goroutines that serve requests")
	requests := flag.Int("requests", 2000, "requests that each of them serves")
	flag.Parse()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "%d goroutines, %d requests each\tMiB held\tgoroutines with a label\tspans labelled at the end\n", *goroutines, *requests)
	for _, c := range candidates() {
		held, labelled, last := serve(c.tp, *goroutines, *requests)
		_, _ = fmt.Fprintf(w, "%s\t%+.1f\t%d\t%t\n", c.name, float64(held)/(1<<20), labelled, last)
	}
	_ = w.Flush()
}

// serve returns what the goroutines hold in memory when they have served their requests
// and wait, how many of them carry the label of a span then, and whether a span
// that is started then has its label.
func serve(tp trace.TracerProvider, goroutines, requests int) (held int64, labelled int, last bool) {
	tracer := tp.Tracer("forgotten")
	before := heap()
	var served, left sync.WaitGroup
	served.Add(goroutines)
	left.Add(goroutines)
	stop := make(chan struct{})
	for range goroutines {
		go func() {
			defer left.Done()
			for range requests {
				handle(tracer)
			}
			served.Done()
			wait(stop)
		}()
	}
	served.Wait()
	held = heap() - before
	labelled = carriers("main.wait")
	close(stop)
	left.Wait()
	_, span := tracer.Start(context.Background(), "next")
	last = carriers("main.carriers") > 0
	span.End()
	pprof.SetGoroutineLabels(context.Background())
	return held, labelled, last
}

// handle is a handler that forgets to end a child.
func handle(tracer trace.Tracer) {
	ctx, server := tracer.Start(context.Background(), "server")
	defer server.End()
	tracer.Start(ctx, "forgotten")
}

//go:noinline
func wait(stop <-chan struct{}) { <-stop }

// heap returns the bytes that the program holds.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// carriers returns how many goroutines that are in a function carry a span's label.
func carriers(function string) (n int) {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 0); err != nil {
		panic(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		panic(err)
	}
	for _, sample := range p.Sample {
		if len(sample.Label["span_id"]) > 0 && within(sample, function) {
			n += int(sample.Value[0])
		}
	}
	return n
}

func within(sample *profile.Sample, function string) bool {
	for _, location := range sample.Location {
		for _, line := range location.Line {
			if line.Function.Name == function {
				return true
			}
		}
	}
	return false
}
