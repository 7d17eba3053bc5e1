// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"strconv"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/exporter"
)

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

// BenchmarkExport adds windows of the recorded service, of 900 samples on average.
// The store has its code.
func BenchmarkExport(b *testing.B) {
	r := readRecording(b)
	var input []*exporter.Profile
	for i := range 20 {
		input = append(input, r.replay(i))
	}
	s := newStore(b)
	export(b, s, input...)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		export(b, s, input[i%len(input)])
		i++
	}
}

// BenchmarkBytesPerSample reports what a sample takes of the store, all in all,
// for the recorded service: at first, when the code that it runs is new, and
// when it has run for an hour. Each replay of a window has spans of its own.
func BenchmarkBytesPerSample(b *testing.B) {
	r := readRecording(b)
	samples, ofSpans := r.count()
	for _, rounds := range []int{1, 10, 144} {
		minutes := float64(rounds*len(r.windows)) * 10 / 60
		b.Run(fmt.Sprintf("minutes=%.1f", minutes), func(b *testing.B) {
			for b.Loop() {
				s := newStore(b)
				for i := range rounds * len(r.windows) {
					export(b, s, r.replay(i))
				}
				all := float64(int64(rounds) * samples)
				b.ReportMetric(float64(s.Stats().Bytes)/all, "B/sample")
				b.ReportMetric(100*float64(ofSpans)/float64(samples), "%in-spans")
				b.ReportMetric(all, "samples")
				if s.Stats().WindowsEvicted > 0 {
					b.Error("not all is held")
				}
			}
		})
	}
}

// BenchmarkReach reports how much time the default store holds of the recorded service. With
// each CPU profile comes a heap profile of so many sites.
func BenchmarkReach(b *testing.B) {
	r := readRecording(b)
	for _, sites := range []int{0, 1000, 3000} {
		b.Run(fmt.Sprintf("sites=%d", sites), func(b *testing.B) {
			heap := heapProfile(sites)
			for b.Loop() {
				s := newStore(b)
				for n := 0; s.Stats().WindowsEvicted == 0; n++ {
					if sites > 0 {
						export(b, s, inWindow(n, exporter.KindHeap, heap))
					}
					export(b, s, r.replay(n))
				}
				reach := map[exporter.Kind]float64{}
				for _, w := range s.Windows() {
					reach[w.Kind] += step.Hours()
				}
				b.ReportMetric(reach[exporter.KindCPU], "h-of-CPU")
				b.ReportMetric(reach[exporter.KindHeap], "h-of-heap")
			}
		})
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
	q := store.Query{Kind: exporter.KindCPU, Matchers: []store.Matcher{matcher(b, "span_id", store.MatchEqual, "00000000000000aa")}}
	view := openView(b, s)
	b.ReportAllocs()
	for b.Loop() {
		if sel, err := view.Samples(q); err != nil || sel.Samples != 10000 {
			b.Fatal(sel, err)
		}
	}
}

func BenchmarkSpans(b *testing.B) {
	s := newStore(b)
	p := s.SpanProcessor()
	for i := range 50000 {
		p.OnEnd(localRootSpan(trace.SpanID{1, byte(i >> 8), byte(i)}))
	}
	view := openView(b, s)
	for _, order := range []store.Order{store.Newest, store.MostCPU} {
		b.Run(fmt.Sprint(order), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := view.Spans(store.SpanQuery{Order: order, Limit: 100}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTrace lists the spans of one trace in a store without room for more records.
func BenchmarkTrace(b *testing.B) {
	s := newStore(b)
	tracer := newTracerProvider(s).Tracer("")
	var last trace.Span
	for s.Stats().SpansEvicted == 0 {
		_, last = tracer.Start(b.Context(), "GET /")
		last.End()
	}
	view := openView(b, s)
	q := store.SpanQuery{TraceID: last.SpanContext().TraceID().String(), Running: true}
	b.ReportAllocs()
	for b.Loop() {
		if spans, err := view.Spans(q); err != nil || len(spans.Spans) != 1 {
			b.Fatal(len(spans.Spans), err)
		}
	}
	records := float64(s.Stats().Spans)
	b.ReportMetric(records, "records")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
}

// BenchmarkFull queries a full store of the recorded service.
func BenchmarkFull(b *testing.B) {
	s := newStore(b)
	r := readRecording(b)
	for i := 0; s.Stats().WindowsEvicted == 0; i++ {
		export(b, s, r.replay(i))
	}
	tracer := newTracerProvider(s).Tracer("")
	for i := range 60000 {
		_, span := tracer.Start(b.Context(), fmt.Sprintf("GET /%d", i%60))
		span.End()
	}
	view := openView(b, s)
	var many []store.Matcher
	for i := range 32 {
		many = append(many, matcher(b, "span_name", store.MatchNotEqual, fmt.Sprint("a", i)))
	}
	cpu := store.Query{Kind: exporter.KindCPU, Stacks: true}
	line := store.Query{Kind: exporter.KindCPU, Labels: []string{"span_name", "service_name"}, Steps: true}
	byMany := store.Query{Stacks: true, Kind: exporter.KindCPU, Matchers: many}
	byID := store.Query{Stacks: true, Kind: exporter.KindCPU, Matchers: []store.Matcher{matcher(b, "profile_id", store.MatchRegexp, ".+")}}
	byTrace := store.Query{Stacks: true, Kind: exporter.KindCPU, Matchers: []store.Matcher{matcher(b, "trace_id", store.MatchEqual, "00000000000000000000000000000001")}}
	for name, ask := range map[string]func() error{
		"Profile": func() error {
			_, err := view.Samples(store.Query{Kind: exporter.KindCPU, Pprof: true})
			return err
		},
		"Select":             func() error { _, err := view.Samples(cpu); return err },
		"Select/32 matchers": func() error { _, err := view.Samples(byMany); return err },
		"Select/by id":       func() error { _, err := view.Samples(byID); return err },
		"Select/by trace":    func() error { _, err := view.Samples(byTrace); return err },
		"Timeline":           func() error { _, err := view.Samples(line); return err },
		"Timeline/by id": func() error {
			of := line
			of.Matchers = byID.Matchers
			_, err := view.Samples(of)
			return err
		},
		"Spans/newest":   func() error { _, err := view.Spans(store.SpanQuery{Limit: 500}); return err },
		"Spans/most CPU": func() error { _, err := view.Spans(store.SpanQuery{Order: store.MostCPU, Limit: 500}); return err },
		"Spans/brief":    func() error { _, err := view.Spans(store.SpanQuery{Brief: true}); return err },
		"Spans/all":      func() error { _, err := view.Spans(store.SpanQuery{}); return err },
		"Names":          func() error { _, err := view.Spans(store.SpanQuery{Names: true}); return err },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
