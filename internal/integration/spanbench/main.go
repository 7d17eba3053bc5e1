// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Spanbench prints what wrappers of tracer providers add to Start and End of a
// span, in nanoseconds and allocations over the bare SDK.
//
// It runs small batches of each wrapper in turn, for the machine's speed drifts
// by more than what is measured here. The column p10 is the difference between
// the tenth percentiles of a wrapper's batches and the bare SDK's, what a span
// costs when nothing disturbs; p50 is the median of the differences within a
// round. The ratio is that of p10 to the last row of a table.
//
//	go run ./internal/integration/spanbench
//	go run ./internal/integration/spanbench -parallel
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"testing"
	"text/tabwriter"
	"time"

	grafana "github.com/grafana/otel-profiling-go"
	pyroscope "github.com/pyroscope-io/otel-profiling-go"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
)

// batch is how many spans are timed together: enough for the clock, few enough
// that most batches see no garbage collection.
const batch = 200

// candidate runs one span from Start to End.
type candidate struct {
	name   string
	before func() // if not nil, before each batch
	span   func()

	perSpan []float64 // ns of each round
}

// scenario is one kind of span. The first candidate is the bare SDK, the last
// the wrapper that the others are compared with.
type scenario struct {
	name       string
	candidates []*candidate
	// extra is the index of what the last candidate does beside the others,
	// which is taken off it for the ratio; 0 for nothing.
	extra int
}

func main() {
	rounds := flag.Int("rounds", 600, "batches of each wrapper")
	parallel := flag.Bool("parallel", false, "compare one goroutine with one for each processor instead")
	flag.Parse()
	fmt.Printf("%s %s/%s, GOMAXPROCS %d, %d batches of %d spans\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), *rounds, batch)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	if *parallel {
		printParallel(w)
	} else {
		for _, s := range scenarios() {
			s.print(w, *rounds)
		}
	}
	_ = w.Flush()
}

func (s scenario) print(w *tabwriter.Writer, rounds int) {
	for round := range rounds {
		for i := range s.candidates {
			c := s.candidates[(round+i)%len(s.candidates)]
			if c.before != nil {
				c.before()
			}
			start := time.Now()
			for range batch {
				c.span()
			}
			c.perSpan = append(c.perSpan, float64(time.Since(start).Nanoseconds())/batch)
		}
	}
	bare := s.candidates[0]
	bareAllocs := bare.allocations()
	bareP10 := percentile(bare.perSpan, 10)
	over := func(c *candidate) float64 { return percentile(c.perSpan, 10) - bareP10 }
	reference := over(s.candidates[len(s.candidates)-1])
	if s.extra > 0 {
		reference -= over(s.candidates[s.extra])
	}
	fmt.Fprintf(w, "%s\tp10 ns\tp50 ns\tallocations\tratio\t\n", s.name)
	fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f\t\t\n", bare.name, bareP10, percentile(bare.perSpan, 50), bareAllocs)
	for _, c := range s.candidates[1:] {
		deltas := make([]float64, rounds)
		for i := range deltas {
			deltas[i] = c.perSpan[i] - bare.perSpan[i]
		}
		fmt.Fprintf(w, "%s\t%+.0f\t%+.0f\t%+.0f\t%.2f\t\n", c.name, over(c), percentile(deltas, 50), c.allocations()-bareAllocs, over(c)/reference)
	}
	fmt.Fprintln(w, "\t\t\t\t\t")
}

func (c *candidate) allocations() float64 {
	if c.before != nil {
		c.before()
	}
	return testing.AllocsPerRun(100, c.span)
}

func percentile(values []float64, p int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)*p/100]
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

// child returns a candidate that runs a child span on a goroutine which carries
// the labels of its parent, as a handler's does. Batches take turns on this
// goroutine, so each puts its own labels there first.
func child(name string, tp trace.TracerProvider) *candidate {
	ctx, _ := tp.Tracer("spanbench").Start(context.Background(), "parent")
	return &candidate{name: name, before: func() { pprof.SetGoroutineLabels(ctx) }, span: under(ctx, tp)}
}

func ours(sdk trace.TracerProvider, options ...spanprof.Option) *spanprof.TracerProvider {
	return spanprof.NewTracerProvider(sdk, options...)
}

var (
	noID   = spanprof.WithoutProfileIDAttribute()
	public = spanprof.WithPublicLabelsOnly()
	all    = spanprof.WithRootSpanOnly(false)
	urls   = []spanprof.Option{
		spanprof.WithAppName("app"), spanprof.WithPyroscopeURL("http://localhost:4040"),
		spanprof.WithProfileURL(true), spanprof.WithProfileBaselineURL(true),
	}
)

// floor is what labels cost by the public API, without any span.
func floor(sdk trace.TracerProvider) func() {
	tracer := sdk.Tracer("spanbench")
	return func() {
		ctx, span := tracer.Start(context.Background(), "operation")
		pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels("span_id", "0123456789abcdef", "span_name", "operation", "trace_id", "0123456789abcdef0123456789abcdef")))
		span.End()
		pprof.SetGoroutineLabels(ctx)
	}
}

func withAttribute(sdk trace.TracerProvider) func() {
	tracer := sdk.Tracer("spanbench")
	return func() {
		_, span := tracer.Start(context.Background(), "operation")
		span.SetAttributes(attribute.String("pyroscope.profile.id", span.SpanContext().SpanID().String()))
		span.End()
	}
}

// withMadeAttributes sets attributes as long as the profile id and the URLs, but
// made once: what the SDK alone takes for them.
func withMadeAttributes(sdk trace.TracerProvider) func() {
	tracer := sdk.Tracer("spanbench")
	var made []attribute.KeyValue
	_, labelled := ours(sdk, urls...).Tracer("spanbench").Start(context.Background(), "operation")
	labelled.End()
	if s, ok := labelled.(sdktrace.ReadOnlySpan); ok {
		made = s.Attributes()
	}
	return func() {
		_, span := tracer.Start(context.Background(), "operation")
		span.SetAttributes(slices.Clone(made)...)
		span.End()
	}
}

func scenarios() []scenario {
	sdk := newSDK()
	never := newSDK(sdktrace.WithSampler(sdktrace.NeverSample()))
	byParent := newSDK(sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample())))
	unsampled := trace.ContextWithRemoteSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1},
	}))
	grafanaAll := []grafana.Option{grafana.WithSpanIDLabelScope(grafana.ScopeAllSpans), grafana.WithSpanNameLabelScope(grafana.ScopeAllSpans)}
	v050 := pyroscope.NewTracerProvider(sdk, pyroscope.WithAppName("app"), pyroscope.WithPyroscopeURL("http://localhost:4040"),
		pyroscope.WithAddSpanName(true), pyroscope.WithProfileURL(true), pyroscope.WithProfileBaselineURL(true))

	return []scenario{
		{name: "sampled local root, labels only", extra: 2, candidates: []*candidate{
			{name: "bare SDK", span: root(sdk)},
			{name: "labels by the public API, no more", span: floor(sdk)},
			{name: "one SetAttributes, no labels", span: withAttribute(sdk)},
			{name: "spanprof", span: root(ours(sdk, noID))},
			{name: "spanprof, all spans", span: root(ours(sdk, noID, all))},
			{name: "spanprof, public API", span: root(ours(sdk, noID, public))},
			{name: "otel-profiling-go v0.7.0 (sets an attribute too)", span: root(grafana.NewTracerProvider(sdk))},
		}},
		{name: "sampled child, root scope", candidates: []*candidate{
			child("bare SDK", sdk),
			child("spanprof", ours(sdk)),
			child("spanprof, public API", ours(sdk, public)),
			child("otel-profiling-go v0.7.0", grafana.NewTracerProvider(sdk)),
		}},
		{name: "sampled child, all spans, labels only", candidates: []*candidate{
			child("bare SDK", sdk),
			child("spanprof", ours(sdk, all, noID)),
			child("spanprof, public API", ours(sdk, all, noID, public)),
			child("spanprof with the attribute", ours(sdk, all)),
			child("otel-profiling-go v0.7.0 (sets an attribute too)", grafana.NewTracerProvider(sdk, grafanaAll...)),
		}},
		{name: "never sampled root", candidates: []*candidate{
			{name: "bare SDK", span: root(never)},
			{name: "spanprof", span: root(ours(never))},
			{name: "spanprof, public API", span: root(ours(never, public))},
			{name: "spanprof with names of unsampled spans", span: root(ours(never, spanprof.WithUnsampledSpanNames()))},
			{name: "otel-profiling-go v0.7.0", span: root(grafana.NewTracerProvider(never))},
		}},
		{name: "unsampled by its parent", candidates: []*candidate{
			{name: "bare SDK", span: under(unsampled, byParent)},
			{name: "spanprof", span: under(unsampled, ours(byParent))},
			{name: "otel-profiling-go v0.7.0", span: under(unsampled, grafana.NewTracerProvider(byParent))},
		}},
		{name: "root by default: labels and profile id", candidates: []*candidate{
			{name: "bare SDK", span: root(sdk)},
			{name: "spanprof", span: root(ours(sdk))},
			{name: "spanprof, public API", span: root(ours(sdk, public))},
			{name: "otel-profiling-go v0.7.0", span: root(grafana.NewTracerProvider(sdk))},
		}},
		{name: "root with profile id, URL and baseline URL", candidates: []*candidate{
			{name: "bare SDK", span: root(sdk)},
			{name: "one SetAttributes of the same three, made before", span: withMadeAttributes(sdk)},
			{name: "spanprof", span: root(ours(sdk, urls...))},
			{name: "spanprof, public API", span: root(ours(sdk, append(slices.Clone(urls), public)...))},
			{name: "otel-profiling-go v0.5.0", span: root(v050)},
		}},
	}
}

// printParallel compares the time of a span on one goroutine with that on one
// goroutine for each processor: a lock or a shared cache line would show. The
// children of one root share the SDK's lock on it.
func printParallel(w *tabwriter.Writer) {
	sdk := newSDK()
	for _, s := range []struct {
		name string
		of   func(name string, tp trace.TracerProvider) *candidate
	}{
		{"sampled local root", func(name string, tp trace.TracerProvider) *candidate {
			return &candidate{name: name, before: func() { pprof.SetGoroutineLabels(context.Background()) }, span: root(tp)}
		}},
		{"children of one root", child},
	} {
		fmt.Fprintf(w, "%s\t1 goroutine, ns\t%d goroutines, ns\tratio\t\n", s.name, runtime.GOMAXPROCS(0))
		for _, c := range []*candidate{
			s.of("bare SDK", sdk),
			s.of("spanprof, labels only", ours(sdk, noID)),
			s.of("spanprof, all spans", ours(sdk, all)),
			s.of("otel-profiling-go v0.7.0", grafana.NewTracerProvider(sdk)),
		} {
			c.before() // the goroutines inherit the labels of this one
			one := measure(1, c.span)
			many := measure(runtime.GOMAXPROCS(0), c.span)
			fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.2f\t\n", c.name, one, many, many/one)
		}
		fmt.Fprintln(w, "\t\t\t\t")
	}
}

// measure returns the best time of a span of five runs on n goroutines.
func measure(n int, span func()) float64 {
	best := make([]float64, 0, 5)
	for range cap(best) {
		r := testing.Benchmark(func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					span()
				}
			})
		})
		best = append(best, float64(r.T.Nanoseconds())/float64(r.N)*float64(n))
	}
	return slices.MinFunc(best, cmp.Compare[float64])
}
