// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/ident"
)

const tick = 10 * time.Millisecond

// cpuOf are n CPU samples of each span.
func cpuOf(n int64, keys ...ident.Key) iter.Seq[Group] {
	return func(yield func(Group) bool) {
		for i, key := range keys {
			s := Samples{CPU: time.Duration(n) * tick, CPUCount: n, Held: n}
			if !yield(Group{Index: i, Span: key, Profile: key, Samples: s}) {
				return
			}
		}
	}
}

// profiled says that the n-th window came, with the samples.
func profiled(l *Log, n int, groups iter.Seq[Group]) {
	l.ProfiledUntil(epoch.Add(time.Duration(n+1) * step).UnixNano())
	l.Join("checkout", groups)
}

func (l *Log) find(t *testing.T, key ident.Key) Record {
	t.Helper()
	l.Settle()
	id, ok := l.indexed(key)
	if !ok {
		t.Fatalf("no record of %v", key)
	}
	return l.record(l.row(id))
}

// Local roots that make room while they run have their samples when they end.
func TestForgottenRoots(t *testing.T) {
	l := New(Config{MaxBytes: 1 << 20, Fraction: 1, PerName: 20})
	tracer := newTracer(l)
	profiled(l, 0, cpuOf(0))
	const n = 700 // More than run at a time, and as many as are remembered.
	if n <= l.maxRunning {
		t.Fatalf("%d roots may run", l.maxRunning)
	}
	var spans []trace.Span
	var keys []ident.Key
	for range n {
		_, span := tracer.Start(t.Context(), "GET /", at(1))
		spans, keys = append(spans, span), append(keys, keyOf(span))
		if len(spans)%100 == 0 {
			profiled(l, 1, cpuOf(1, keys[len(keys)-100:]...))
		}
	}
	profiled(l, 2, cpuOf(2, keys...))
	for _, span := range spans {
		span.End(at(3.5))
	}
	profiled(l, 3, cpuOf(4, keys...))
	for _, key := range keys {
		if r := l.find(t, key); r.CPUCount != 7 || r.Lost != LostNothing {
			t.Fatalf("%d of 7 samples, lost %d", r.CPUCount, r.Lost)
		}
	}
	if totals := l.Totals(); totals.Forgotten != int64(n-l.maxRunning) || totals.SamplesLost != 0 {
		t.Errorf("%+v", totals)
	}
}

// Samples that come before the end of their span find it, or are counted as lost, and
// what ran then is marked.
func TestSamplesInFlight(t *testing.T) {
	for _, children := range []int{400, 20000} {
		t.Run(strconv.Itoa(children), func(t *testing.T) {
			l := New(Config{MaxBytes: 1 << 20, Fraction: 1, PerName: 20})
			tracer := newTracerOfAll(l)
			ctx, root := tracer.Start(t.Context(), "root", at(0))
			var spans []trace.Span
			var keys []ident.Key
			for range children {
				_, span := tracer.Start(ctx, "child", at(0.1))
				spans, keys = append(spans, span), append(keys, keyOf(span))
			}
			profiled(l, 0, cpuOf(3, keys...))
			profiled(l, 1, cpuOf(1, keys...))
			for _, span := range spans {
				span.End(at(2))
			}
			root.End(at(2))
			totals, r := l.Totals(), l.find(t, keyOf(root))
			all := time.Duration(4*children) * tick
			if r.Below+totals.CPULost != all {
				t.Errorf("%v below the root and %v lost, want %v together", r.Below, totals.CPULost, all)
			}
			lost := totals.SamplesLost > 0
			if lost != (children > 400) || lost != (r.Lost == LostSamples) {
				t.Errorf("%d spans lost samples, the root is marked with %d", totals.SamplesLost, r.Lost)
			}
			// What comes later is not concerned.
			_, later := tracer.Start(t.Context(), "later", at(2.1))
			later.End(at(2.2))
			if r := l.find(t, keyOf(later)); r.Lost != LostNothing {
				t.Error("a later span is marked")
			}
			inner := 0
			for i := range len(l.chunks) * chunkLen {
				if r := l.row(rowID(i + 1)); r.list != freeList && !r.LocalRoot {
					inner++
				}
			}
			if l.inner != inner {
				t.Errorf("counted %d children with a record, there are %d", l.inner, inner)
			}
			if l.orphans.bytes > l.orphans.maxBytes*5/4 {
				t.Errorf("orphans take %d of %d bytes", l.orphans.bytes, l.orphans.maxBytes)
			}
		})
	}
}

// Where more spans end between two profiles than there are records, those with most CPU
// time are known all the same.
func TestSpansThatLeaveEarly(t *testing.T) {
	l := New(Config{MaxBytes: 1 << 20, Fraction: 1, PerName: 20})
	tracer := newTracer(l)
	profiled(l, 0, cpuOf(0))
	var hungriest, others []ident.Key
	n := 10 * l.maxRows
	for i := range n {
		_, span := tracer.Start(t.Context(), "GET /", at(1.1))
		if i%(n/20) == n/40 {
			// Not the slowest 20, but not the fastest either.
			hungriest = append(hungriest, keyOf(span))
			span.End(at(1.5))
			continue
		}
		others = append(others, keyOf(span))
		span.End(at(1.2 + 0.1*float64(i%7)/7))
		if i%(n/50) == 0 {
			_, slow := tracer.Start(t.Context(), "GET /", at(1.1))
			slow.End(at(1.8))
		}
	}
	if totals := l.Totals(); totals.EvictedEarly == 0 || totals.EvictedEarly != totals.Evicted {
		t.Errorf("%+v", totals)
	}
	profiled(l, 1, cpuOf(50, hungriest...))
	profiled(l, 1, cpuOf(1, others...))
	marked := 0
	for _, key := range hungriest {
		r := l.find(t, key)
		if r.CPUCount != 50 || r.places&hungry == 0 || r.Name.Value != "GET /" || time.Duration(r.Duration) != 4*time.Second {
			t.Errorf("%d samples, places %b, %v", r.CPUCount, r.places, time.Duration(r.Duration))
		}
		if r.Lost == LostSummary {
			marked++
		}
	}
	if marked == 0 {
		t.Error("none is marked as one that came back")
	}
	var spans int64
	for _, c := range l.TakeCounts() {
		spans += c.CPUCount
	}
	if totals := l.Totals(); totals.Held != int(totals.Ended-totals.Evicted) || l.bytes > l.maxBytes || spans < 20*50 {
		t.Errorf("%+v, %d bytes of %d, %d samples counted", totals, l.bytes, l.maxBytes, spans)
	}
}

// Names that come once do not take the places of names that come again.
func TestOneOffNames(t *testing.T) {
	l := New(Config{MaxBytes: 1 << 20, Fraction: 1, PerName: 5})
	tracer := newTracer(l)
	for i := range 2 * maxOwnKeepers {
		_, span := tracer.Start(t.Context(), fmt.Sprint("scan ", i), at(0))
		span.End(at(1))
	}
	if l.keepers != l.maxKeepers {
		t.Fatalf("%d of %d keepers are in use", l.keepers, l.maxKeepers)
	}
	want := make(map[ident.Key]bool)
	for i := range 20 * l.maxRows {
		_, span := tracer.Start(t.Context(), fmt.Sprint("checkout ", i%20), at(float64(i)/100))
		end := float64(i)/100 + 0.01
		if i%l.maxRows < 20 && i/l.maxRows < 5 && i >= l.maxRows/2 {
			end++
			want[keyOf(span)] = true
		}
		span.End(at(end))
	}
	for key := range want {
		if l.find(t, key).places&slow == 0 {
			t.Error("a slow span is not kept")
		}
	}
	if len(want) < 80 || len(l.owners) != l.keepers || l.keepers > l.maxKeepers {
		t.Errorf("%d slow spans, %d owners of %d keepers", len(want), len(l.owners), l.keepers)
	}
	checkPlaces(t, l)
}

// checkPlaces holds the places of all records against the keepers.
func checkPlaces(t *testing.T, l *Log) {
	t.Helper()
	want := make(map[rowID]places)
	enter := func(k *keeper) {
		for of := range k.extremes {
			for _, id := range k.extremes[of].rows {
				want[id] |= 1 << of
			}
		}
		for _, id := range k.examples {
			if id != 0 {
				want[id] |= example
			}
		}
	}
	for _, n := range l.owners {
		enter(n.keeper)
	}
	enter(&l.others)
	for _, e := range l.errorTypes {
		for _, id := range e.rows {
			if id != 0 {
				want[id] |= lastError
			}
		}
	}
	for i := range len(l.chunks) * chunkLen {
		id := rowID(i + 1)
		if r := l.row(id); r.places != want[id] || r.list == freeList && r.places != 0 || r.list == pinnedList && r.places == 0 {
			t.Fatalf("record %d in list %d has the places %b, want %b", id, r.list, r.places, want[id])
		}
	}
}

// The last errors of each type are kept, whatever comes more often.
func TestLastErrors(t *testing.T) {
	l := New(Config{MaxBytes: 1 << 20, Fraction: 1, PerName: 1})
	tracer := newTracer(l)
	// One that has the places of its name.
	_, first := tracer.Start(t.Context(), "GET /", at(-1))
	first.End(at(0))
	profiled(l, 0, cpuOf(9, keyOf(first)))
	fail := func(status string, window int) ident.Key {
		_, span := tracer.Start(t.Context(), "GET /", at(float64(window)))
		span.SetStatus(codes.Error, status)
		span.End(at(float64(window) + 0.01))
		profiled(l, window, cpuOf(1, keyOf(span)))
		return keyOf(span)
	}
	var rare []ident.Key
	for i := range 5 {
		rare = append(rare, fail(fmt.Sprintf("card 47%d declined", i), i))
	}
	for i := range 3 * l.maxRows {
		fail(fmt.Sprintf("upstream 10.0.0.%d unavailable", i), i+10)
	}
	for i, key := range rare {
		if kept := l.pinned(key); kept != (i >= 2) {
			t.Errorf("error %d: kept %t", i, kept)
		}
	}
	if ranks := l.Ranks(rare); !slices.Equal(ranks, []int{NoRank, NoRank, 2, 1, 0}) {
		t.Errorf("ranks %v", ranks)
	}
	checkPlaces(t, l)
	// Types are bounded: the one without errors for longest goes.
	for i := range maxErrorTypes + 1 {
		fail(fmt.Sprint("type ", string(rune('A'+i%26)), string(rune('a'+i/26))), 5*l.maxRows)
	}
	if len(l.errorTypes) > l.maxErrorTypes || l.pinned(rare[4]) {
		t.Errorf("%d types of %d", len(l.errorTypes), l.maxErrorTypes)
	}
	checkPlaces(t, l)
}

// A name without spans for long counts less than one that has some.
func TestIdleNamesGiveWay(t *testing.T) {
	l := New(Config{MaxBytes: 1 << 20, Fraction: 1, PerName: 5})
	tracer := newTracer(l)
	span := func(name string, from, until float64) ident.Key {
		_, span := tracer.Start(t.Context(), name, at(from))
		span.End(at(until))
		return keyOf(span)
	}
	old := span("nightly", 0, 1)
	busy := span("GET /", 0, 0.5)
	profiled(l, 0, cpuOf(1, old, busy))
	if ranks := l.Ranks([]ident.Key{old, busy}); !slices.Equal(ranks, []int{0, 0}) {
		t.Errorf("at first: ranks %v", ranks)
	}
	week := int(7 * 24 * time.Hour / step)
	span("GET /", float64(week)-0.1, float64(week))
	profiled(l, week, cpuOf(0))
	if ranks := l.Ranks([]ident.Key{old, busy}); ranks[0] != maxIdleRanks || ranks[1] != 0 {
		t.Errorf("after a week: ranks %v", ranks)
	}
}

// A span that runs is kept by what it took so far.
func TestRunningSpansAreKept(t *testing.T) {
	l := New(Config{MaxBytes: 1 << 20, Fraction: 1, PerName: 2})
	tracer := newTracer(l)
	_, stream := tracer.Start(t.Context(), "stream", at(0))
	for range 5 {
		_, span := tracer.Start(t.Context(), "stream", at(0))
		span.End(at(3))
	}
	profiled(l, 1, cpuOf(0))
	if l.pinned(keyOf(stream)) {
		t.Error("kept, though it is not among the slowest yet")
	}
	profiled(l, 4, cpuOf(1, keyOf(stream)))
	if !l.pinned(keyOf(stream)) {
		t.Error("the slowest of all is not kept")
	}
	stream.End(at(5))
	if l.find(t, keyOf(stream)).places&slow == 0 {
		t.Error("not kept when it ended")
	}
}
