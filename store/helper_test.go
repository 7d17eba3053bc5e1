// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/store"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
)

// epoch is when the first window of a test starts, and step is its length. tick is the CPU time
// of a sample.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const (
	step = 10 * time.Second
	tick = 10 * time.Millisecond
)

var checkout = resource.NewSchemaless(attribute.String("service.name", "checkout"))

// sample is count CPU samples of a stack, which is written "root;...;leaf".
type sample struct {
	stack  string
	count  int64
	labels map[string]string
}

func labels(kv ...string) map[string]string {
	m := make(map[string]string)
	for pair := range slices.Chunk(kv, 2) {
		m[pair[0]] = pair[1]
	}
	return m
}

// cpuProfile returns what the runtime writes: one function for each frame.
func cpuProfile(samples ...sample) *profile.Profile {
	main := &profile.Mapping{ID: 1, Start: 0x400000, Limit: 0x800000, File: "/bin/app", BuildID: "b1", HasFunctions: true}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     int64(tick),
		Mapping:    []*profile.Mapping{main},
	}
	locations := make(map[string]*profile.Location)
	for _, in := range samples {
		s := &profile.Sample{Value: []int64{in.count, in.count * int64(tick)}}
		for key, value := range in.labels {
			if s.Label == nil {
				s.Label = make(map[string][]string)
			}
			s.Label[key] = []string{value}
		}
		for _, name := range slices.Backward(strings.Split(in.stack, ";")) {
			l := locations[name]
			if l == nil {
				id := uint64(len(locations) + 1)
				f := &profile.Function{ID: id, Name: name, SystemName: name, Filename: name + ".go", StartLine: int64(id)}
				l = &profile.Location{ID: id, Mapping: main, Address: 0x400000 + id, Line: []profile.Line{{Function: f, Line: int64(id) + 7}}}
				locations[name] = l
				p.Function = append(p.Function, f)
				p.Location = append(p.Location, l)
			}
			s.Location = append(s.Location, l)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// inWindow puts a profile into the n-th window.
func inWindow(n int, kind exporter.Kind, p *profile.Profile) *exporter.Profile {
	return exporter.NewParsedProfile(exporter.Window{
		Kind:     kind,
		Start:    epoch.Add(time.Duration(n) * step),
		Duration: step,
		Resource: checkout,
	}, p)
}

func export(tb testing.TB, s *store.Store, profiles ...*exporter.Profile) {
	tb.Helper()
	for _, p := range profiles {
		if err := s.Export(context.Background(), p); err != nil {
			tb.Fatal(err)
		}
	}
}

func newStore(tb testing.TB, opts ...store.Option) *store.Store {
	tb.Helper()
	s, err := store.New(opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// openView returns a view that is closed at the end of the test.
func openView(tb testing.TB, s *store.Store) store.View {
	tb.Helper()
	v, err := s.View(context.Background(), time.Time{}, time.Time{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(v.Close)
	return v
}

func newTracerProvider(s *store.Store) *sdktrace.TracerProvider {
	return sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor()), sdktrace.WithResource(checkout))
}

// at is a moment of the test, in windows.
func at(windows float64) trace.SpanEventOption {
	return trace.WithTimestamp(epoch.Add(time.Duration(windows * float64(step))))
}

func idOf(s trace.Span) string { return s.SpanContext().SpanID().String() }

func matcher(tb testing.TB, label string, op store.MatchOp, value string) store.Matcher {
	tb.Helper()
	m, err := store.NewMatcher(label, op, value)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func selectCPU(tb testing.TB, s *store.Store, matchers ...store.Matcher) *store.Samples {
	tb.Helper()
	sel, err := s.Select(store.Query{Kind: exporter.KindCPU, Matchers: matchers})
	if err != nil {
		tb.Fatal(err)
	}
	return sel
}

// folded writes a selection as "root;...;leaf value" lines, sorted.
func folded(sel *store.Samples) []string {
	var lines []string
	for _, sv := range sel.Stacks {
		var names []string
		for _, l := range slices.Backward(sv.Stack) {
			for _, line := range slices.Backward(l.Line) {
				names = append(names, line.Function.Name)
			}
		}
		lines = append(lines, fmt.Sprintf("%s %d", strings.Join(names, ";"), sv.Value))
	}
	slices.Sort(lines)
	return lines
}

// heapProfile returns a heap profile of n sites, as the runtime writes it.
func heapProfile(n int) *profile.Profile {
	var samples []sample
	for i := range n {
		samples = append(samples, sample{stack: fmt.Sprint("main;new", i%100)})
	}
	p := cpuProfile(samples...)
	p.SampleType = []*profile.ValueType{
		{Type: "alloc_objects", Unit: "count"},
		{Type: "alloc_space", Unit: "bytes"},
		{Type: "inuse_objects", Unit: "count"},
		{Type: "inuse_space", Unit: "bytes"},
	}
	p.PeriodType, p.Period = &profile.ValueType{Type: "space", Unit: "bytes"}, 512<<10
	for i, s := range p.Sample {
		size, allocated, inUse := int64(16+16*(i%60)), int64(i), int64(7*i)
		s.Value = []int64{allocated, allocated * size, inUse, inUse * size}
		s.NumLabel = map[string][]int64{"bytes": {size}}
	}
	return p
}

// fillUp exports windows until all windows before are evicted.
func fillUp(tb testing.TB, s *store.Store) {
	tb.Helper()
	r, before := readRecording(tb), s.Stats()
	for n := 2; s.Stats().WindowsEvicted < before.WindowsEvicted+int64(before.Windows); n++ {
		export(tb, s, r.replay(n))
	}
}
