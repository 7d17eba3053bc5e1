// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"testing"

	"github.com/spanprof/spanprof/store"

	"github.com/spanprof/spanprof/exporter"
)

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
	samples := r.count()
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
		"Spans/of a trace": func() error {
			_, err := view.Spans(store.SpanQuery{TraceID: "00000000000000000000000000000001"})
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
