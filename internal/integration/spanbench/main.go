// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Spanbench prints the cost of wrappers of tracer providers for a span, from Start to End:
// nanoseconds and allocations over the bare SDK.
//
//	go run ./internal/integration/spanbench
//	go run ./internal/integration/spanbench -service
//
// Without flags it has a table for each kind of span: local roots and children, sampled or
// not, with the attributes that the options set.
//
// With -service it has the cost for a service with the bare SDK and with the batch span
// processor. To that it adds the page's span processor, inprocess and each wrapper. Roots have no
// attributes or 8 of their own, on 1, 2 and 8 goroutines. Then follows the throughput on one
// and two cores. It takes some four minutes of CPU time.
//
// Batches of all wrappers take turns, -rounds of each. Fewer take less time, and
// are less exact.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"text/tabwriter"

	grafana "github.com/grafana/otel-profiling-go"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
)

func main() {
	rounds := flag.Int("rounds", 600, "`batches` of each wrapper; with -service on 2 and 8 goroutines half as many, and an eighth")
	service := flag.Bool("service", false, "compare what a service pays that exports its spans and keeps them for the page instead")
	flag.Parse()
	fmt.Printf("%s %s/%s, GOMAXPROCS %d, %d batches of %d spans\n\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), *rounds, batchSpans)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	if *service {
		if err := printService(w, *rounds); err != nil {
			fmt.Fprintln(os.Stderr, "spanbench:", err)
			os.Exit(1)
		}
	} else {
		for _, s := range scenarios() {
			s.print(w, *rounds)
		}
	}
	_ = w.Flush()
}

// under returns a function that starts and ends a span in ctx.
func under(ctx context.Context, tp trace.TracerProvider, options ...trace.SpanStartOption) func() {
	tracer := tp.Tracer("spanbench")
	return func() {
		_, span := tracer.Start(ctx, "operation", options...)
		span.End()
	}
}

func root(tp trace.TracerProvider) func() { return under(context.Background(), tp) }

// child returns a candidate for child spans on a goroutine with the labels of their parent,
// like a handler's. Batches take turns on this
// goroutine, so each puts its own labels there first.
func child(name string, tp trace.TracerProvider) candidate {
	ctx, _ := tp.Tracer("spanbench").Start(context.Background(), "parent")
	return candidate{name: name, before: func() { pprof.SetGoroutineLabels(ctx) }, span: under(ctx, tp)}
}

func ours(sdk trace.TracerProvider, options ...spanprof.Option) *spanprof.TracerProvider {
	return spanprof.NewTracerProvider(sdk, options...)
}

var (
	noID = spanprof.WithoutProfileIDAttribute()
	all  = spanprof.WithRootSpanOnly(false)
	page = spanprof.WithPyroscopeURL("http://localhost:4040")
)

func scenarios() []scenario {
	// Without processors: what a span costs, not what is done with it.
	sdk := sdktrace.NewTracerProvider()
	never := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	grafanaAll := []grafana.Option{grafana.WithSpanIDLabelScope(grafana.ScopeAllSpans), grafana.WithSpanNameLabelScope(grafana.ScopeAllSpans)}
	return []scenario{
		{name: "sampled local root, labels only", candidates: []candidate{
			{name: "bare SDK", span: root(sdk)},
			{name: "spanprof", span: root(ours(sdk, noID))},
			{name: "spanprof, all spans", span: root(ours(sdk, noID, all))},
			{name: "otel-profiling-go v0.7.0 (sets an attribute too)", span: root(grafana.NewTracerProvider(sdk))},
		}},
		{name: "sampled child, root scope", candidates: []candidate{
			child("bare SDK", sdk),
			child("spanprof", ours(sdk)),
			child("otel-profiling-go v0.7.0", grafana.NewTracerProvider(sdk)),
		}},
		{name: "sampled child, all spans, labels only", candidates: []candidate{
			child("bare SDK", sdk),
			child("spanprof", ours(sdk, all, noID)),
			child("spanprof with the attribute", ours(sdk, all)),
			child("otel-profiling-go v0.7.0 (sets an attribute too)", grafana.NewTracerProvider(sdk, grafanaAll...)),
		}},
		{name: "never sampled root", candidates: []candidate{
			{name: "bare SDK", span: root(never)},
			{name: "spanprof", span: root(ours(never))},
			{name: "spanprof with names of unsampled spans", span: root(ours(never, spanprof.WithUnsampledSpanNames()))},
			{name: "otel-profiling-go v0.7.0", span: root(grafana.NewTracerProvider(never))},
		}},
		{name: "root by default: labels and profile id", candidates: []candidate{
			{name: "bare SDK", span: root(sdk)},
			{name: "spanprof", span: root(ours(sdk))},
			{name: "otel-profiling-go v0.7.0", span: root(grafana.NewTracerProvider(sdk))},
		}},
		{name: "root with profile id and URLs", candidates: []candidate{
			{name: "bare SDK", span: root(sdk)},
			{name: "spanprof, URL, baseline and difference", span: root(ours(sdk, page, spanprof.WithProfileURL(true), spanprof.WithProfileBaselineURL(true)))},
		}},
	}
}
