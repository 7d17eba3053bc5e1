// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/store"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// TestEvictionFreesTables takes all windows out again.
func TestEvictionFreesTables(t *testing.T) {
	s := newStore(t)
	g := newGenerator()
	for n := range 5 {
		export(t, s, inWindow(n, exporter.KindCPU, g.profile(300)))
		export(t, s, inWindow(n, exporter.KindHeap, cpuProfile(sample{"main;f", 1, labels("a", "b")})))
	}
	export(t, s, inWindow(5, exporter.KindCPU, cpuProfile(
		sample{"a", 1, labels("profile_id", "job", "team", "x")},
		sample{"b", 1, labels("profile_id", "job", "team", "y")},
		sample{"b", 1, labels("profile_id", "job", "span_id", "job")},
		sample{"b", 1, labels("profile_id", "other", "span_id", "job")},
	)))
	for s.Look().Windows > 0 {
		s.EvictOldest()
	}
	if n := s.Look().Tables; n != 0 {
		t.Error("bytes in tables:", n)
	}
	if n := s.Look().Nodes; n != 0 {
		t.Error("nodes in tables:", n)
	}
	if n := s.Look().Kept; n != 0 {
		t.Error("windows kept:", n)
	}
	// What remains is when CPU was profiled in the service.
	if s.Look().Index > 200 {
		t.Error("bytes in the index:", s.Look().Index)
	}
}

// TestEvictionKeepsRest compares a store that evicted with one that never had
// what was evicted.
func TestEvictionKeepsRest(t *testing.T) {
	g := newGenerator()
	shared := sample{"job", 1, labels("profile_id", "job", "span_name", "long")}
	var profiles []*exporter.Profile
	for n := range 6 {
		p := g.profile(300)
		p.Sample = append(p.Sample, cpuProfile(shared).Sample...)
		profiles = append(profiles, inWindow(n, exporter.KindCPU, p))
	}
	all, rest := newStore(t), newStore(t)
	export(t, all, profiles...)
	export(t, rest, profiles[3:]...)
	for range 3 {
		all.EvictOldest()
	}
	if diff := cmp.Diff(rest.Spans(store.SpanQuery{}), all.Spans(store.SpanQuery{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(folded(selectCPU(t, rest)), folded(selectCPU(t, all))); diff != "" {
		t.Error(diff)
	}
	if a, b := all.Look().Nodes, rest.Look().Nodes; a != b {
		t.Error("nodes in tables:", a, b)
	}
	if a, b := all.Look().Oldest, rest.Look().Oldest; a != b {
		t.Error("bytes of the oldest window:", a, b)
	}
}

// Heap, mutex and block, which are of no span, leave three quarters of the room to
// the windows of spans.
func TestShareOfUnlabelledWindows(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	// Each sample is in a span of its own.
	cpu := func(n int) *profile.Profile {
		var samples []sample
		for i := range 200 {
			samples = append(samples, sample{"main;serve", 1, labels("span_id", fmt.Sprintf("%016x", n*200+i+1))})
		}
		return cpuProfile(samples...)
	}
	held := func(s *store.Store) (windows map[exporter.Kind]int, unlabelled int64) {
		windows = make(map[exporter.Kind]int)
		for _, w := range s.Windows(store.WindowQuery{}) {
			windows[w.Kind]++
			if w.Kind != exporter.KindCPU {
				unlabelled += w.Bytes + 16 // Its place in the index.
			}
		}
		inside := s.Look()
		if unlabelled != inside.UnlabelledBytes || inside.Windows-windows[exporter.KindCPU] != inside.Unlabelled {
			t.Fatalf("counted %d windows of %d bytes without labels of %v, %d", inside.Unlabelled, inside.UnlabelledBytes, windows, unlabelled)
		}
		return windows, unlabelled
	}
	const steps = 600
	alone, both := newStore(t, store.WithMaxBytes(2<<20)), newStore(t, store.WithMaxBytes(2<<20))
	tracer := newTracerProvider(both).Tracer("")
	for n := range steps {
		if n%100 == 0 {
			// One that never makes room for heap.
			export(t, both, inWindow(n, exporter.KindMutex, heapProfile(1)))
		}
		for range 3 {
			_, span := tracer.Start(t.Context(), "GET /")
			span.End()
		}
		window := inWindow(n, exporter.KindCPU, cpu(n))
		export(t, alone, window)
		export(t, both, inWindow(n, exporter.KindHeap, heapProfile(300)), window)
		held(both)
	}
	reach, _ := held(alone)
	windows, unlabelled := held(both)
	if limit := both.Look().MaxProfileBytes; unlabelled > limit/4 || unlabelled < limit/5 {
		t.Errorf("windows without labels take %d bytes of %d", unlabelled, limit)
	}
	if windows[exporter.KindCPU] < reach[exporter.KindCPU]*7/10 || windows[exporter.KindMutex] == 0 {
		t.Errorf("held: %v, with CPU alone %v", windows, reach)
	}
	// Those that went first took no spans with them that others count.
	if got := both.NameTotals()[0]; got.Name != "GET /" || got.Spans != 3*windows[exporter.KindCPU] {
		t.Errorf("%d windows of CPU count %+v", windows[exporter.KindCPU], got)
	}
	for n, w := range slices.Backward(both.Windows(store.WindowQuery{Kind: exporter.KindHeap})) {
		if want := epoch.Add(time.Duration(steps-windows[exporter.KindHeap]+n) * step); !w.Start.Equal(want) {
			t.Fatalf("heap of %s is held, want %s", w.Start, want)
		}
	}

	// With nothing beside them they have all the room, and count the spans.
	s := newStore(t, store.WithMaxBytes(2<<20))
	tracer = newTracerProvider(s).Tracer("")
	for n := 0; s.Stats().WindowsEvicted < 10; n++ {
		_, span := tracer.Start(t.Context(), "GET /")
		span.End()
		export(t, s, inWindow(n, exporter.KindHeap, heapProfile(300)))
	}
	if windows, unlabelled := held(s); unlabelled < s.Look().MaxProfileBytes/3 || s.NameTotals()[0].Spans != windows[exporter.KindHeap] {
		t.Errorf("heap alone takes %d bytes; %+v", unlabelled, s.NameTotals())
	}
	// One that takes more than the share is held all the same.
	export(t, s, inWindow(0, exporter.KindHeap, heapProfile(10000)), inWindow(0, exporter.KindBlock, heapProfile(10)), inWindow(0, exporter.KindCPU, cpu(0)))
	if windows, unlabelled := held(s); unlabelled <= s.Look().MaxProfileBytes/4 || windows[exporter.KindHeap] == 0 || windows[exporter.KindBlock] == 0 || windows[exporter.KindCPU] == 0 {
		t.Errorf("held: %v, without labels %d bytes", windows, unlabelled)
	}
}

// A profile that cannot fit pushes nothing out.
func TestTooBig(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	s := newStore(t, store.WithMaxBytes(2<<20))
	export(t, s, inWindow(0, exporter.KindCPU, cpuProfile(sample{"f", 1, nil})))
	before := s.Look().Nodes
	deep := cpuProfile(sample{"f", 1, nil})
	deep.Sample[0].Location = make([]*profile.Location, 1<<21)
	for i := range deep.Sample[0].Location {
		deep.Sample[0].Location[i] = deep.Location[0]
	}
	for name, p := range map[string]*profile.Profile{"many samples": newGenerator().profile(30000), "a deep stack": deep} {
		if err := s.Export(t.Context(), inWindow(1, exporter.KindCPU, p)); err == nil {
			t.Error("no error for", name)
		}
	}
	if stats := s.Stats(); stats.Windows != 1 || stats.WindowsReceived != 1 || stats.WindowsEvicted != 0 || stats.WindowsRefused != 2 || stats.Bytes > 100000 {
		t.Errorf("%+v", stats)
	}
	if after := s.Look().Nodes; after != before {
		t.Errorf("%d nodes in tables, %d before", after, before)
	}
	export(t, s, inWindow(2, exporter.KindCPU, cpuProfile(sample{"f", 1, nil})))
}

// Texts in the log of events take their part of what profiles may take.
func TestEventsAreBounded(t *testing.T) {
	s := newStore(t, store.WithMaxBytes(2<<20))
	g := newGenerator()
	g.stacks = g.stacks[:20]
	for n := 0; s.Stats().WindowsEvicted == 0; n++ {
		export(t, s, inWindow(n, exporter.KindCPU, g.profile(300)))
	}
	service := resource.NewSchemaless(attribute.String("service.name", strings.Repeat("x", ident.MaxTextLen)))
	bad := exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU, Resource: service}, []byte("no pprof"))
	for range 512 {
		if err := s.Export(t.Context(), bad); err == nil {
			t.Fatal("no error")
		}
		if bytes := s.Stats().Bytes - s.Look().Spans; bytes > 3<<19 {
			t.Fatalf("profiles and events take %d of %d bytes", bytes, 3<<19)
		}
	}
	if n := s.Stats().ParseErrors; n != 512 {
		t.Error("parse errors:", n)
	}
}

// Names and descriptions take their part of what spans may take.
func TestTextsAreBounded(t *testing.T) {
	s := newStore(t, store.WithMaxBytes(2<<20))
	tracer := newTracerProvider(s).Tracer("")
	for i := range 3000 {
		long := strings.Repeat(strconv.Itoa(i), 500)
		_, span := tracer.Start(t.Context(), long)
		span.SetStatus(codes.Error, long)
		span.End()
	}
	if stats := s.Stats(); stats.Bytes > stats.MaxBytes/4 || stats.Spans < 10 || stats.Spans != len(s.Spans(store.SpanQuery{})) {
		t.Errorf("%+v", stats)
	}
}

func TestSpansAreBounded(t *testing.T) {
	s := newStore(t, store.WithMaxBytes(2<<20), store.WithSpansPerName(0))
	tracer := newTracerProvider(s).Tracer("")
	const n = 10000
	for i := range n {
		_, span := tracer.Start(t.Context(), fmt.Sprint("span ", i), at(float64(i)))
		span.End(at(float64(i + 1)))
	}
	stats := s.Stats()
	if stats.Bytes > 1<<19 || stats.Bytes < 1<<18 {
		t.Error("bytes:", stats.Bytes)
	}
	spans := s.Spans(store.SpanQuery{})
	if stats.SpansEnded != n || stats.SpansEvicted != n-int64(stats.Spans) || stats.Spans != len(spans) {
		t.Errorf("%+v, %d spans", stats, len(spans))
	}
	if spans[0].Name != "span 9999" || spans[len(spans)-1].Name != fmt.Sprint("span ", stats.SpansEvicted) {
		t.Error(spans[0].Name, spans[len(spans)-1].Name)
	}
	// Spans that never end are forgotten.
	const maxRunning = 272 // An eighth of the records of 2 MiB.
	for range 10 * maxRunning {
		tracer.Start(t.Context(), "leak")
	}
	if running := s.Stats().SpansRunning; running == 0 || running > maxRunning {
		t.Error("running spans:", running)
	}
	if got := s.Stats().Bytes; got > 1<<19 {
		t.Error("bytes:", got)
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	s := newStore(t, store.WithMaxBytes(2<<20))
	g := newGenerator()
	tracer := newTracerProvider(s).Tracer("")
	var input []*exporter.Profile
	for n := range 16 {
		p := g.profile(200)
		p.Sample = append(p.Sample, cpuProfile(sample{"job", 1, labels("profile_id", "job")}).Sample...)
		input = append(input, inWindow(n, exporter.KindCPU, p))
	}
	done := make(chan struct{})
	var writers, readers sync.WaitGroup
	for i := range 2 {
		writers.Go(func() {
			for n, p := range input {
				if n%2 == i {
					if err := s.Export(t.Context(), p); err != nil {
						t.Error(err)
					}
				}
			}
		})
		writers.Go(func() {
			for n := range 2000 {
				_, span := tracer.Start(t.Context(), fmt.Sprint("span ", n%7))
				span.End()
			}
		})
	}
	byID := matcher(t, "profile_id", store.MatchEqual, "job")
	queries := []func(){
		func() { s.Spans(store.SpanQuery{Order: store.MostCPU}) },
		func() { s.Span("job") },
		func() { selectCPU(t, s, byID) },
		func() { folded(selectCPU(t, s)) },
		func() {
			p, err := s.Profile(store.Query{Kind: exporter.KindCPU, Until: epoch.Add(time.Hour)})
			if err != nil || p.CheckValid() != nil {
				t.Error(err)
			}
		},
		func() { s.Stats() },
		func() { s.Spans(store.SpanQuery{Running: true, Contains: "span", Limit: 10}) },
		func() { s.NameTotals() },
		func() { s.Windows(store.WindowQuery{}) },
		func() { s.Log() },
		func() { s.Kinds(store.Query{Matchers: []store.Matcher{byID}}) },
		func() {
			if _, err := s.Timeline(store.Query{Kind: exporter.KindCPU}, 3); err != nil {
				t.Error(err)
			}
		},
	}
	// Two readers leave the writers time.
	for i := range 2 {
		readers.Go(func() {
			for n := i; ; n++ {
				queries[n%len(queries)]()
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if stats := s.Stats(); stats.WindowsEvicted == 0 || stats.Bytes > stats.MaxBytes {
		t.Errorf("%+v", stats)
	}
}
