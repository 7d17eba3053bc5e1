// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// dropOldest drops a segment as if there were no room.
func (r *Room) dropOldest() {
	oldest := r.sealed[0]
	r.sealed = r.sealed[1:]
	k := r.keeper(oldest)
	r.replaceKept(k, k.build(r.maxBytes/pendingShare))
	r.changed()
}

// The slowest spans of each name, those with the most CPU time and the last errors stay.
// All their rows do too. They are in no sum that does not list them.
func TestKept(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	r := NewRoom(64<<20, nil)
	cpu := make(map[ident.Key]int64)
	slowest, hungriest, failed := Ended{}, ident.Key(0), ident.Key(0)
	id := ident.Key(0)
	for n := range 60 {
		var rows []row
		for range 20 {
			id++
			e := Ended{ID: id, Name: "GET", Service: "a", Start: int64(n) * length, Duration: rnd.Int64N(10 * second), Err: id%50 == 0, LocalRoot: true}
			cost := 1 + rnd.Int64N(1000)
			rows = append(rows, row{fmt.Sprint("main;f", id), cost, labels("profile_id", id.String(), "span_id", id.String(), "span_name", "GET")})
			cpu[id] = cost * tick
			if e.Duration > slowest.Duration {
				slowest = e
			}
			if cpu[id] > cpu[hungriest] {
				hungriest = id
			}
			if e.Err {
				failed = id
			}
			r.End(e)
		}
		export(t, r, windowOf(n, exporter.KindCPU, profileOf(rows...)))
		if n%10 == 9 {
			r.seal()
		}
		if n%20 == 19 {
			r.dropOldest()
			r.dropOldest()
		}
	}
	if len(r.sealed) != 0 || r.kept == nil {
		t.Fatal("not all is dropped")
	}
	v := r.View()
	for name, of := range map[string]ident.Key{"slowest": slowest.ID, "most CPU": hungriest, "last error": failed} {
		s, ok := v.Find(of)
		m, _ := NewMatcher("span_id", Equal, of.String())
		a := answer(t, v, &Query{Kind: exporter.KindCPU, Stacks: true, Matchers: []Matcher{m}})
		if !ok || s.CPU != cpu[of] || s.Label != "GET" || folded(a)[fmt.Sprint("main;f", of)] != cpu[of] {
			t.Errorf("%s: %+v, %v, want %d", name, s, folded(a), cpu[of])
		}
	}
	if a := answer(t, v, &Query{Kind: exporter.KindCPU}); a.Total != 0 {
		t.Errorf("kept rows are in a sum: %d", a.Total)
	}
	list, _ := v.List(t.Context(), &SpanQuery{})
	if n := int64(len(list)); n < 20 || n > 10*7+10+3 || v.SpansEnded != n+v.SpansEvicted {
		t.Errorf("%d spans, %+v", n, v.Counts)
	}
}

// All ranks of names that are in newer segments precede names that are not. The first ranks of
// all these names precede the others.
func TestKeptNames(t *testing.T) {
	r := NewRoom(8<<20, nil)
	id := ident.Key(0)
	end := func(name string) {
		id++
		r.End(Ended{ID: id, Name: name, Start: int64(id), Duration: second, LocalRoot: true})
	}
	for i := range 20 {
		end(fmt.Sprint("old ", i))
	}
	r.seal()
	r.dropOldest()
	for _, name := range []string{"a", "b"} {
		for range perBand {
			end(name)
		}
	}
	r.seal()
	end("a")
	end("b")
	k := r.keeper(r.sealed[0])
	k.survey()
	for budget, want := range map[int64]string{7: "4 3 0", 25: "10 10 5"} {
		var n [3]int
		for id := range k.choose(k.ranks(), budget*spanBytes) {
			n[min(2, (20+2*perBand-id)/perBand)]++
		}
		if got := fmt.Sprintf("%d %d %d", n[1], n[0], n[2]); got != want {
			t.Errorf("got %s spans of a, b and old names, want %s", got, want)
		}
	}
}

// Rows of a span that has not ended stay, so that its sums are whole when it ends. No goroutine
// carries the span meanwhile.
func TestKeptUntilTheEnd(t *testing.T) {
	r := NewRoom(64<<20, nil)
	r.Running = func() map[string]bool { return map[string]bool{} }
	for n := range 6 {
		export(t, r, windowOf(n, exporter.KindCPU, profileOf(row{"main;f", 1, labels("span_id", ident.Key(1).String())})))
		r.seal()
		if n > 0 {
			r.dropOldest()
		}
	}
	r.End(Ended{ID: 1, Name: "GET", Duration: 6 * length})
	if s, ok := r.View().Find(1); !ok || s.CPU != 6*tick || s.Held != 6 || r.counts.Lost != 0 {
		t.Errorf("%+v, %+v", s, r.counts)
	}
}

// The kept segment has a bound, and names that were not seen for long are dropped first.
// Ids without an end have a bound of their own, and are counted beyond it.
func TestKeptBound(t *testing.T) {
	r := NewRoom(8<<20, nil)
	r.maxBytes, r.target = 768<<10, 96<<10
	id := ident.Key(0)
	for n := range 800 {
		var rows []row
		for range 200 {
			id++
			rows = append(rows, row{"main;f", 1, labels("span_id", id.String(), "profile_id", id.String())})
			if id%20 == 0 {
				r.End(Ended{ID: id, Name: fmt.Sprint("GET /", n), Start: int64(n) * length, Duration: second, LocalRoot: true})
			}
		}
		export(t, r, windowOf(n, exporter.KindCPU, profileOf(rows...)))
	}
	if r.kept == nil || r.kept.bytes() > r.maxBytes/keptShare || r.bytes() > r.maxBytes {
		t.Fatalf("%d bytes kept, %d in all", r.kept.bytes(), r.bytes())
	}
	v := r.View()
	if v.Unended == 0 {
		t.Error("ids without an end were not counted")
	}
	oldest, newest := 1<<30, -1
	for _, e := range r.kept.spans.list {
		var name int
		_, _ = fmt.Sscanf(r.kept.spans.texts.list[e.name], "GET /%d", &name)
		oldest, newest = min(oldest, name), max(newest, name)
	}
	if oldest == 0 || newest < oldest+5 {
		t.Errorf("names %d to %d are kept", oldest, newest)
	}
	list, _ := v.List(t.Context(), &SpanQuery{})
	if v.SpansEnded != int64(len(list))+v.SpansEvicted {
		t.Errorf("%d listed, %+v", len(list), v.Counts)
	}
}

// Rows of spans that run stay before rows of ids without a record, such as dropped spans.
// Only ids that run count. Unlisted spans have no place.
func TestKeptRunning(t *testing.T) {
	r := NewIntake(NewRoom(8<<20, nil), 0.5, nil).room
	runs, listed, unlisted := ident.Key(1), trace.TraceID{255}, trace.TraceID{1}
	r.Running = func() map[string]bool { return map[string]bool{runs.String(): true} }
	for n := range 100 {
		var rows []row
		if n < 3 {
			rows = append(rows, row{"main;f", 5, labels("span_id", runs.String(), "trace_id", listed.String())})
		}
		for i := range 1000 {
			id := ident.Key(1000*(n+1) + i)
			of := []trace.TraceID{listed, unlisted}[i%2]
			rows = append(rows, row{"main;f", 1, labels("span_id", id.String(), "trace_id", of.String())})
		}
		export(t, r, windowOf(n, exporter.KindCPU, profileOf(rows...)))
		if n%10 == 9 {
			r.seal()
			r.dropOldest()
		}
	}
	r.End(Ended{ID: runs, Trace: listed, Name: "GET", Duration: 100 * length, LocalRoot: true})
	v := r.View()
	if s, _ := v.Find(runs); s.Samples != 15 || v.Unended != 0 || v.Lost == 0 {
		t.Errorf("%d samples, %+v", s.Samples, v.Counts)
	}
	for g, id := range r.kept.groups.list {
		if id.trace == unlisted {
			t.Fatalf("group %d is of an unlisted span", g)
		}
	}
	if n := len(r.kept.groups.list); n < 1000 {
		t.Errorf("%d groups", n)
	}
}

// A kept span has its children of other segments too: they stay while the trace runs, or until
// the root is dropped.
func TestKeptChildren(t *testing.T) {
	r := NewRoom(8<<20, nil)
	of, runs := trace.TraceID{1}, trace.TraceID{3}
	r.Running = func() map[string]bool { return map[string]bool{runs.String(): true} }
	r.End(Ended{ID: 2, Parent: 1, Trace: of, Name: "query", Child: true}, Ended{ID: 3, Trace: trace.TraceID{2}, Name: "gone", Child: true},
		Ended{ID: 4, Trace: runs, Name: "running", Child: true})
	r.seal()
	r.End(Ended{ID: 1, Trace: of, Name: "GET", Duration: second, LocalRoot: true})
	r.seal()
	for want := 2; want <= 3; want++ {
		r.dropOldest()
		if n := len(r.kept.spans.list); n != want {
			t.Errorf("%d spans are kept, want %d", n, want)
		}
	}
	v := r.View()
	root, _ := v.Find(1)
	if list := v.Children([]Span{root})[1]; len(list) != 1 || list[0].ID != 2 {
		t.Errorf("%+v", list)
	}
}

// The room changes while a kept segment is built, and while views answer.
func TestTrimBeside(t *testing.T) {
	r := NewRoom(8<<20, nil)
	var all sync.WaitGroup
	for of := range 3 {
		all.Go(func() {
			for n := range 60 {
				var rows []row
				for i := range 400 {
					id := ident.Key(of<<20 | n<<10 | i + 1)
					r.End(Ended{ID: id, Name: "GET", Start: int64(n) * length, Duration: int64(i) * second, LocalRoot: true})
					rows = append(rows, row{fmt.Sprint("main;f", id), 1, labels("span_id", id.String())})
				}
				export(t, r, windowOf(n, exporter.KindCPU, profileOf(rows...)))
				if n%10 != of {
					continue
				}
				v := r.View()
				held, listed, named := int64(0), int64(0), int64(0)
				for _, w := range v.Windows() {
					held += w.Samples
				}
				for range 2 { // the view is about one moment
					list, _ := v.List(t.Context(), &SpanQuery{})
					names, _ := v.Names(t.Context())
					if a := answer(t, v, &Query{Kind: exporter.KindCPU, Stacks: true}); a.Samples != held {
						t.Errorf("%d samples, want %d", a.Samples, held)
					}
					if len(names) != 1 || listed > 0 && (int64(len(list)) != listed || names[0].Spans != named) {
						t.Errorf("%d spans, then %d, and %+v", listed, len(list), names)
					}
					listed, named = int64(len(list)), names[0].Spans
				}
			}
		})
	}
	all.Wait()
	v := r.View()
	list, _ := v.List(t.Context(), &SpanQuery{})
	if v.Bytes > r.maxBytes || v.SpansEnded != 3*60*400 || v.SpansEnded != int64(len(list))+v.SpansEvicted || r.kept == nil {
		t.Errorf("%d bytes, %d listed, %+v", v.Bytes, len(list), v.Counts)
	}
}
