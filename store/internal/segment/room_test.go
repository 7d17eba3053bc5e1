// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/ident"
)

const (
	second = int64(time.Second)
	length = 10 * second // of a window
	tick   = int64(10 * time.Millisecond)
)

// row is a row of a test profile. Its values are n samples.
type row struct {
	stack  string // root;leaf
	n      int64
	labels map[string]string
}

func labels(pairs ...string) map[string]string {
	m := make(map[string]string)
	for pair := range slices.Chunk(pairs, 2) {
		m[pair[0]] = pair[1]
	}
	return m
}

// profileOf returns a profile as the runtime writes it.
func profileOf(rows ...row) *profile.Profile {
	app := &profile.Mapping{ID: 1, File: "/bin/app", HasFunctions: true}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: tick, Mapping: []*profile.Mapping{app},
	}
	locations := make(map[string]*profile.Location)
	for _, r := range rows {
		s := &profile.Sample{Value: []int64{r.n, r.n * tick}, Label: make(map[string][]string)}
		for key, value := range r.labels {
			s.Label[key] = []string{value}
		}
		for _, name := range slices.Backward(strings.Split(r.stack, ";")) {
			l := locations[name]
			if l == nil {
				f := &profile.Function{ID: uint64(len(locations) + 1), Name: name, Filename: name + ".go"}
				l = &profile.Location{ID: f.ID, Mapping: app, Address: uint64(len(name)), Line: []profile.Line{{Function: f, Line: 7}}}
				locations[name] = l
				p.Function, p.Location = append(p.Function, f), append(p.Location, l)
			}
			s.Location = append(s.Location, l)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// windowOf returns the n-th window.
func windowOf(n int, kind exporter.Kind, p *profile.Profile) *exporter.Profile {
	return exporter.NewParsedProfile(exporter.Window{
		Kind: kind, Start: time.Unix(0, int64(n)*length), Duration: time.Duration(length),
		Resource: resource.NewSchemaless(attribute.String("service.name", fmt.Sprint("service", n%2))),
	}, p)
}

func export(t testing.TB, r *Room, profiles ...*exporter.Profile) {
	t.Helper()
	for _, p := range profiles {
		if err := r.Export(p); err != nil {
			t.Fatal(err)
		}
	}
}

func answer(t testing.TB, v *View, q *Query) *Answer {
	t.Helper()
	a, err := v.Samples(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// stackOf returns the functions of a stack as root;leaf.
func stackOf(locations []*profile.Location) string {
	var names []string
	for _, l := range slices.Backward(locations) {
		names = append(names, l.Line[0].Function.Name)
	}
	return strings.Join(names, ";")
}

// folded returns the sums of an answer by labels, start and stack.
func folded(a *Answer) map[string]int64 {
	stack := a.Stacks()
	sums := make(map[string]int64)
	for _, s := range a.Sums {
		key := stackOf(stack(s.Stack))
		if len(a.Labels) > 0 {
			key += fmt.Sprint(" ", a.Labels[s.Labels])
		}
		if s.Start != 0 {
			key += fmt.Sprint(" ", s.Start)
		}
		sums[key] += s.Value
	}
	return sums
}

// Late rows count apart, in the segment of the end and in a later one.
func TestAfterEnd(t *testing.T) {
	const id = "00000000000000aa"
	of := func(n int) *exporter.Profile {
		return windowOf(n, exporter.KindCPU, profileOf(row{"f", 1, labels("profile_id", id, "span_id", id)}))
	}
	for name, seals := range map[string][]int{"one segment": nil, "two segments": {3}, "far segments": {1, 4, 5, 6, 7}} {
		r := NewRoom(64<<20, nil)
		for n := range 10 {
			if n == 1 {
				r.End(Ended{ID: 0xaa, Name: "GET", Start: 0, Duration: length})
			}
			export(t, r, of(n))
			if slices.Contains(seals, n) {
				r.seal()
			}
		}
		s, _ := r.View().Find(0xaa)
		if s.CPU != 4*tick || s.AfterEnd != 6*tick || s.Samples != 4 || s.AfterEndSamples != 6 {
			t.Errorf("%s: %+v", name, s.Sums)
		}
	}
}

// A profile that exceeds half of the bytes is refused and leaves nothing.
func TestTooLarge(t *testing.T) {
	r := NewRoom(8<<20, nil)
	large := func(n int) *exporter.Profile {
		var rows []row
		for i := range n {
			rows = append(rows, row{fmt.Sprintf("main;%01000d", i), 1, nil})
		}
		return windowOf(0, exporter.KindCPU, profileOf(rows...))
	}
	export(t, r, large(10), large(1000))
	before := r.Stats().Bytes
	numbers := profileOf(row{"main;f", 1, nil})
	for i := range int64(200_000) {
		numbers.Sample = append(numbers.Sample, &profile.Sample{Value: numbers.Sample[0].Value, NumLabel: map[string][]int64{"bytes": {i, i + 1}}})
	}
	for _, p := range []*exporter.Profile{large(4000), windowOf(0, exporter.KindCPU, numbers)} {
		if err := r.Export(p); !errors.Is(err, ErrTooLarge) || r.Stats().Bytes != before {
			t.Errorf("%v, %d bytes, want %d", err, r.Stats().Bytes, before)
		}
	}
	if err := r.Export(exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU}, []byte("x"))); err == nil || !strings.Contains(err.Error(), "invalid profile") {
		t.Error(err)
	}
	if n := len(r.View().Windows()); n != 2 {
		t.Errorf("%d windows, want 2", n)
	}
	if c := r.View().Counts; c.WindowsReceived != 2 || c.WindowsRefused != 2 || c.ParseErrors != 1 {
		t.Errorf("%+v", c)
	}
}

// Heap profiles take a quarter of a segment at most, and the newest stays.
func TestHeapShare(t *testing.T) {
	r := NewRoom(8<<20, nil)
	var rows []row
	for i := range 500 {
		rows = append(rows, row{"main;f", int64(i), labels("n", fmt.Sprint(i))})
	}
	for n := range 200 {
		export(t, r, windowOf(n, exporter.KindHeap, profileOf(rows...)))
	}
	v := r.View()
	windows := v.Windows()
	var bytes int64
	for _, w := range windows {
		bytes += w.Bytes
	}
	if bytes > r.target/share || bytes < r.target/share/2 || !windows[len(windows)-1].Start.Equal(time.Unix(0, 199*length)) {
		t.Errorf("%d windows with %d bytes", len(windows), bytes)
	}
	if v.WindowsEvicted+int64(len(windows)) != 200 {
		t.Errorf("%+v", v.Counts)
	}
}

// Spans take a quarter of a segment at most, and more in a room with little in it. Spans with
// samples, errors and the slowest outlive others, and all count by name.
func TestSpanShare(t *testing.T) {
	r := NewRoom(16<<20, nil)
	const n = 240_000
	sampled := ident.Key(230_000)
	for i := range int64(n) {
		duration := second
		switch i {
		case 40_000, 60_000, 90_000, 120_000, 150_000, 180_000, 210_000:
			r.seal()
		case 215_000:
			export(t, r, windowOf(1, exporter.KindCPU, profileOf(row{"f", 1, labels("span_id", sampled.String())})))
		case 225_000:
			duration = 2 * second
		}
		r.End(Ended{ID: ident.Key(i + 1), Name: "GET", Start: 0, Duration: duration + i, Err: i == 224_000, LocalRoot: true})
	}
	v := r.View()
	sealed := int64(0)
	for _, s := range r.sealed {
		sealed += s.spans.bytes()
	}
	if open := r.open.spans.bytes(); open > r.target/share || open < r.target/share/3 || sealed < r.maxBytes/share || sealed > r.maxBytes/2 || len(r.sealed) != 8 {
		t.Errorf("spans take %d bytes of the open segment, and %d of %d others", open, sealed, len(r.sealed))
	}
	for _, id := range []ident.Key{sampled, 225_001, 224_001, n} {
		_, found := v.Find(id)
		if e, ok := r.Lookup(id); !found || !ok || e.ID != id {
			t.Errorf("span %d is dropped: %v, %+v", id, found, e)
		}
	}
	list, _ := v.List(t.Context(), &SpanQuery{})
	if names, _ := v.Names(t.Context()); len(names) != 1 || names[0].Spans != n || names[0].Errors != 1 || names[0].MaxDuration != 2*second+225_000 {
		t.Errorf("names: %+v", names)
	}
	if v.SpansEnded != n || v.SpansEvicted+int64(len(list)) != n {
		t.Errorf("%d listed, %+v", len(list), v.Counts)
	}
}

// At most 64 children of one trace are kept, and lists leave them out. Of many names the last ones
// count together.
func TestChildrenAndNames(t *testing.T) {
	r := NewRoom(8<<20, nil)
	for i := range ident.Key(100) {
		r.End(Ended{ID: i + 1, Trace: trace.TraceID{1}, Name: "query", Child: true})
	}
	for i := range ident.Key(maxNames + 5) {
		r.End(Ended{ID: i + 1000, Name: fmt.Sprint("GET /", i)})
	}
	v := r.View()
	without, _ := v.List(t.Context(), &SpanQuery{Trace: trace.TraceID{1}})
	names, _ := v.Names(t.Context())
	if children := r.open.spans.list; !children[maxChildren-1].child || children[maxChildren].child || len(without) != 0 || v.ChildrenDropped != 100-maxChildren || v.SpansEnded != maxNames+5 {
		t.Errorf("%d spans, %+v", len(without), v.Counts)
	}
	if len(names) != maxNames+1 || !slices.Contains(names, NameTotal{Name: otherName, Spans: 5}) {
		t.Errorf("%d names: %+v", len(names), names)
	}
}

// The CPU time of a span that was renamed is under its last name. A span of another service may
// have the first one.
func TestRenamed(t *testing.T) {
	r := NewRoom(8<<20, nil)
	for id, name := range []string{"GET", "GET /a"} {
		r.End(Ended{ID: ident.Key(id + 1), Name: name, Service: fmt.Sprint("service", id), Start: 1, Duration: second, LocalRoot: true})
		export(t, r, windowOf(id, exporter.KindCPU, profileOf(row{"f", 1, labels("span_id", ident.Key(id+1).String(), "span_name", "GET")})))
	}
	names, _ := r.View().Names(t.Context())
	for _, n := range names {
		if n.CPU != tick || n.Spans != 1 || n.Label != "GET" {
			t.Errorf("%+v", n)
		}
	}
	if len(names) != 2 {
		t.Errorf("%d names", len(names))
	}
}

// Samples are of unseen spans if their span does not run and does not end soon.
func TestUnseen(t *testing.T) {
	r := NewRoom(32<<20, nil)
	r.Running = func() map[string]bool { return map[string]bool{ident.Key(2).String(): true} }
	fillSegment := func(n int) {
		for sealed := len(r.sealed); len(r.sealed) == sealed; n++ {
			export(t, r, windowOf(n, exporter.KindCPU, profileOf(row{strings.Repeat("x", 200_000) + fmt.Sprint(n), 1, nil})))
		}
	}
	end := func(id ident.Key) { r.End(Ended{ID: id, Name: "GET", Start: 1, Duration: second, LocalRoot: true}) }
	end(1)
	var rows []row
	for id := range ident.Key(6) {
		rows = append(rows, row{"f", 1 << id, labels("span_id", (id + 1).String(), "profile_id", (id + 1).String())})
	}
	rows = append(rows, row{"f", 1 << 10, labels("profile_id", "00000000000000aa")})
	export(t, r, windowOf(0, exporter.KindCPU, profileOf(rows...)))
	end(3)
	fillSegment(1)
	if n := r.Stats().Unseen; n != 0 {
		t.Errorf("%d samples are counted too early", n)
	}
	end(4)
	export(t, r, windowOf(500, exporter.KindCPU, profileOf(rows[4]))) // its labels stay
	fillSegment(501)
	fillSegment(1001)
	fillSegment(1501)
	if n := r.Stats().Unseen; n != 1<<4+1<<5 {
		t.Errorf("%d samples are of unseen spans, want those of 5 and 6", n)
	}
}

// The coverage of this process is known after any number of earlier ones. A service without
// windows has the coverage of the one with the latest window.
func TestCoverageAfterMany(t *testing.T) {
	r := NewRoom(8<<20, nil)
	for n := range 3 * maxServices {
		r.profiledBy(&window{service: fmt.Sprint(n), end: length}, true)
	}
	export(t, r, windowOf(1, exporter.KindCPU, profileOf()), windowOf(0, exporter.KindCPU, profileOf()), windowOf(2, exporter.KindCPU, profileOf()))
	for want, of := range map[Coverage]Ended{Whole: {Start: 2 * length, Duration: length}, None: {Start: length + second}} {
		s := Span{Ended: of} // None is a span without a duration
		if c, complete := r.View().Coverage(&s); c != want || !complete {
			t.Errorf("%+v: %v, %t", of, c, complete)
		}
	}
	if services := slices.Sorted(slices.Values(r.Services())); len(r.profiles) != maxServices+2 || !slices.Equal(services, []string{"service0", "service1"}) {
		t.Errorf("%d services, of this process %q", len(r.profiles), services)
	}
}

// Windows of a segment may differ in length. No sample of a span is in neither sum.
func TestShortWindow(t *testing.T) {
	r := NewRoom(8<<20, nil)
	window := func(start, length, samples int64) {
		export(t, r, exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: time.Unix(0, start), Duration: time.Duration(length)}, profileOf(row{"f", samples, labels("span_id", ident.Key(7).String())})))
	}
	r.End(Ended{ID: 7, Name: "GET", Start: 100 * second, Duration: 5 * second, LocalRoot: true})
	window(95*second, length, 3)
	r.seal()
	export(t, r, exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: time.Unix(108, 0), Duration: time.Second / 2}, profileOf(row{"f", 1, nil})))
	window(109*second, length, 5)
	r.seal()
	if s, _ := r.View().Find(7); s.CPU != 8*tick || s.AfterEnd != 0 {
		t.Errorf("%+v", s.Sums)
	}
}

// The first service of a process keeps its windows without a resource. Windows of one
// process cover the spans of all its services.
func TestFirstService(t *testing.T) {
	r := NewRoom(8<<20, nil)
	for n, service := range []string{"", noService(), "a", "b"} {
		if service != "" {
			r.SetService(service, "")
		}
		export(t, r, exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: time.Unix(0, int64(n)*length), Duration: time.Duration(length)}, profileOf(row{"f", 1, nil})))
	}
	v := r.View()
	for _, w := range v.Windows() {
		if w.Service != "a" {
			t.Errorf("a window of %q", w.Service)
		}
	}
	for _, service := range []string{"a", "b"} {
		s := Span{Ended: Ended{Service: service, Duration: 4 * length}}
		c, complete := v.Coverage(&s)
		if until := v.Until(service); c != Whole || !complete || until != 4*length {
			t.Errorf("%s: coverage %v, %t until %d", service, c, complete, until)
		}
	}
}
