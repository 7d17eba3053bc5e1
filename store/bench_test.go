// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"strconv"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/exporter"
)

// readWriteSpan gives a finished span to OnStart too, so that the processor is
// measured without the SDK.
type readWriteSpan struct {
	sdktrace.ReadWriteSpan
	span sdktrace.ReadOnlySpan
}

func (s readWriteSpan) Parent() trace.SpanContext      { return s.span.Parent() }
func (s readWriteSpan) SpanContext() trace.SpanContext { return s.span.SpanContext() }

func localRootSpan(id trace.SpanID) sdktrace.ReadOnlySpan {
	return tracetest.SpanStub{
		Name:        "GET /",
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: id}),
		StartTime:   epoch,
		EndTime:     epoch.Add(step),
		Attributes:  []attribute.KeyValue{attribute.String("http.route", "/")},
		Resource:    checkout,
	}.Snapshot()
}

func BenchmarkSpan(b *testing.B) {
	p, ctx := newStore(b).SpanProcessor(), b.Context()
	span := localRootSpan(trace.SpanID{1})
	var rw sdktrace.ReadWriteSpan = readWriteSpan{span: span}
	b.ReportAllocs()
	for b.Loop() {
		p.OnStart(ctx, rw)
		p.OnEnd(span)
	}
}

func TestSpanAllocates(t *testing.T) {
	p := newStore(t).SpanProcessor()
	span := localRootSpan(trace.SpanID{1})
	var rw sdktrace.ReadWriteSpan = readWriteSpan{span: span}
	// One chunk is allocated for chunkLen spans.
	if n := testing.AllocsPerRun(1000, func() {
		p.OnStart(t.Context(), rw)
		p.OnEnd(span)
	}); n > 0 {
		t.Error("allocations per span:", n)
	}
}

func BenchmarkExport(b *testing.B) {
	g := newGenerator()
	input := make([]*exporter.Profile, 20)
	for i := range input {
		input[i] = inWindow(i, exporter.KindCPU, g.profile(1500))
	}
	s := newStore(b)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		export(b, s, input[i%len(input)])
		i++
	}
}

func BenchmarkBytesPerSample(b *testing.B) {
	g := newGenerator()
	for b.Loop() {
		s := newStore(b)
		const windows, samples = 10, 1500
		for i := range windows {
			export(b, s, inWindow(i, exporter.KindCPU, g.profile(samples)))
		}
		b.ReportMetric(float64(s.Stats().Bytes)/(windows*samples), "B/sample")
	}
}

func BenchmarkSelectSpan(b *testing.B) {
	g := newGenerator()
	s := newStore(b)
	for n := range 10 {
		p := g.profile(2000)
		for i, sample := range p.Sample {
			if i%2 == 0 {
				sample.Label = map[string][]string{"span_id": {"00000000000000aa"}, "span_name": {strconv.Itoa(i % 3)}}
			}
		}
		export(b, s, inWindow(n, exporter.KindCPU, p))
	}
	m := matcher(b, "span_id", MatchEqual, "00000000000000aa")
	b.ReportAllocs()
	for b.Loop() {
		if sel := selectCPU(b, s, m); sel.Samples != 10000 {
			b.Fatal(sel.Samples)
		}
	}
}

func BenchmarkSpans(b *testing.B) {
	s := newStore(b)
	p := s.SpanProcessor()
	for i := range 50000 {
		p.OnEnd(localRootSpan(trace.SpanID{1, byte(i >> 8), byte(i)}))
	}
	for _, order := range []Order{Newest, MostCPU} {
		b.Run(fmt.Sprint(order), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Spans(SpanQuery{Order: order, Limit: 100})
			}
		})
	}
}
