// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
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

// generator makes profiles of a program of 3,000 functions as a server writes
// them: stacks of 10 to 50 frames with common roots, most samples in a span of
// their own.
type generator struct {
	rand      *rand.Rand
	mapping   *profile.Mapping
	functions []*profile.Function
	locations []*profile.Location
	stacks    [][]*profile.Location
}

func newGenerator() *generator {
	g := &generator{
		rand:    rand.New(rand.NewPCG(1, 2)),
		mapping: &profile.Mapping{ID: 1, Start: 0x400000, Limit: 0x4000000, File: "/usr/local/bin/server", HasFunctions: true},
	}
	for i := range 3000 {
		f := &profile.Function{
			ID:         uint64(i + 1),
			Name:       fmt.Sprintf("github.com/example/server/internal/package%d.(*Type%d).Method%d", i%90, i%400, i),
			Filename:   fmt.Sprintf("/go/src/github.com/example/server/internal/package%d/file%d.go", i%90, i%300),
			StartLine:  int64(i),
			SystemName: fmt.Sprintf("github.com/example/server/internal/package%d.(*Type%d).Method%d", i%90, i%400, i),
		}
		g.functions = append(g.functions, f)
		l := &profile.Location{ID: f.ID, Mapping: g.mapping, Address: 0x400000 + f.ID*64, Line: []profile.Line{{Function: f, Line: f.StartLine + 3}}}
		if i > 0 && i%5 == 0 {
			l.Line = append([]profile.Line{{Function: g.functions[i-1], Line: int64(i)}}, l.Line...)
		}
		g.locations = append(g.locations, l)
	}
	for range 2000 {
		depth := 10 + g.rand.IntN(40)
		stack := make([]*profile.Location, depth)
		for i := range stack {
			// The nearer to the root, the fewer functions.
			stack[depth-1-i] = g.locations[g.rand.IntN(min(len(g.locations), 4<<(i/2)))]
		}
		g.stacks = append(g.stacks, stack)
	}
	return g
}

// profile returns a profile of n samples.
func (g *generator) profile(n int) *profile.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     int64(tick),
		Mapping:    []*profile.Mapping{g.mapping},
		Location:   g.locations,
		Function:   g.functions,
	}
	var id, traceID string
	for i := range n {
		// Stacks are as uneven as in life.
		stack := g.stacks[g.rand.IntN(1+g.rand.IntN(len(g.stacks)))]
		s := &profile.Sample{Location: stack, Value: []int64{1, int64(tick)}}
		if i%10 != 0 {
			if id == "" || i%5 != 1 {
				id = fmt.Sprintf("%016x", g.rand.Uint64())
				traceID = fmt.Sprintf("%016x%016x", g.rand.Uint64(), g.rand.Uint64())
			}
			s.Label = map[string][]string{
				"profile_id": {id},
				"span_id":    {id},
				"trace_id":   {traceID},
				"span_name":  {fmt.Sprintf("GET /api/v1/resource%d", g.rand.IntN(40))},
			}
		}
		p.Sample = append(p.Sample, s)
	}
	slices.SortStableFunc(p.Sample, func(a, b *profile.Sample) int { return cmp.Compare(len(a.Location), len(b.Location)) })
	return p
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
	g, before := newGenerator(), s.Stats()
	for n := 2; s.Stats().WindowsEvicted < before.WindowsEvicted+int64(before.Windows); n++ {
		export(tb, s, inWindow(n, exporter.KindCPU, g.profile(2000)))
	}
}
