// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Spanbench prints the cost of wrappers of tracer providers for a span, from Start to End:
// nanoseconds and allocations over the bare SDK.
//
// Package paired documents the columns. The last version of
// otel-profiling-go that sets URLs is compared by ../peers/oldwrapper.
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
	"runtime/pprof"

	grafana "github.com/grafana/otel-profiling-go"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/integration/spanbench/paired"
)

func main() {
	rounds := flag.Int("rounds", 600, "`batches` of each wrapper; with -service on 2 and 8 goroutines half as many, and an eighth")
	service := flag.Bool("service", false, "compare what a service pays that exports its spans and keeps them for the page instead")
	flag.Parse()
	w := paired.NewTable(os.Stdout, *rounds)
	switch {
	case *service:
		if err := printService(w, *rounds); err != nil {
			fmt.Fprintln(os.Stderr, "spanbench:", err)
			os.Exit(1)
		}
	default:
		for _, s := range scenarios() {
			s.Print(w, *rounds)
		}
	}
	_ = w.Flush()
}

// newSDK returns a provider without processors: what a span costs, not what is
// done with it.
func newSDK(options ...sdktrace.TracerProviderOption) *sdktrace.TracerProvider {
	return sdktrace.NewTracerProvider(options...)
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
func child(name string, tp trace.TracerProvider) *paired.Candidate {
	ctx, _ := tp.Tracer("spanbench").Start(context.Background(), "parent")
	return &paired.Candidate{Name: name, Before: func() { pprof.SetGoroutineLabels(ctx) }, Span: under(ctx, tp)}
}

func ours(sdk trace.TracerProvider, options ...spanprof.Option) *spanprof.TracerProvider {
	return spanprof.NewTracerProvider(sdk, options...)
}

var (
	noID = spanprof.WithoutProfileIDAttribute()
	all  = spanprof.WithRootSpanOnly(false)
	page = spanprof.WithPyroscopeURL("http://localhost:4040")
)

func scenarios() []paired.Scenario {
	sdk := newSDK()
	never := newSDK(sdktrace.WithSampler(sdktrace.NeverSample()))
	grafanaAll := []grafana.Option{grafana.WithSpanIDLabelScope(grafana.ScopeAllSpans), grafana.WithSpanNameLabelScope(grafana.ScopeAllSpans)}
	return []paired.Scenario{
		{Name: "sampled local root, labels only", Candidates: []*paired.Candidate{
			{Name: "bare SDK", Span: root(sdk)},
			{Name: "spanprof", Span: root(ours(sdk, noID))},
			{Name: "spanprof, all spans", Span: root(ours(sdk, noID, all))},
			{Name: "otel-profiling-go v0.7.0 (sets an attribute too)", Span: root(grafana.NewTracerProvider(sdk))},
		}},
		{Name: "sampled child, root scope", Candidates: []*paired.Candidate{
			child("bare SDK", sdk),
			child("spanprof", ours(sdk)),
			child("otel-profiling-go v0.7.0", grafana.NewTracerProvider(sdk)),
		}},
		{Name: "sampled child, all spans, labels only", Candidates: []*paired.Candidate{
			child("bare SDK", sdk),
			child("spanprof", ours(sdk, all, noID)),
			child("spanprof with the attribute", ours(sdk, all)),
			child("otel-profiling-go v0.7.0 (sets an attribute too)", grafana.NewTracerProvider(sdk, grafanaAll...)),
		}},
		{Name: "never sampled root", Candidates: []*paired.Candidate{
			{Name: "bare SDK", Span: root(never)},
			{Name: "spanprof", Span: root(ours(never))},
			{Name: "spanprof with names of unsampled spans", Span: root(ours(never, spanprof.WithUnsampledSpanNames()))},
			{Name: "otel-profiling-go v0.7.0", Span: root(grafana.NewTracerProvider(never))},
		}},
		{Name: "root by default: labels and profile id", Candidates: []*paired.Candidate{
			{Name: "bare SDK", Span: root(sdk)},
			{Name: "spanprof", Span: root(ours(sdk))},
			{Name: "otel-profiling-go v0.7.0", Span: root(grafana.NewTracerProvider(sdk))},
		}},
		{Name: "root with URLs, without the id", Candidates: []*paired.Candidate{
			{Name: "bare SDK", Span: root(sdk)},
			{Name: "WithProfileURL", Span: root(ours(sdk, noID, page, spanprof.WithProfileURL(true)))},
			{Name: "WithProfileURL, baseline and difference", Span: root(ours(sdk, noID, page, spanprof.WithProfileURL(true), spanprof.WithProfileBaselineURL(true)))},
			{Name: "WithGrafanaProfileURL", Span: root(ours(sdk, noID, spanprof.WithGrafanaProfileURL("http://localhost:3000", "pyroscope")))},
			{Name: "WithProfileURLBuilder", Span: root(ours(sdk, noID, spanprof.WithProfileURLBuilder(spanprof.DefaultProfileURLBuilder("http://localhost:4040", "shop"))))},
		}},
	}
}
