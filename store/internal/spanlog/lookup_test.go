// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/ident"
)

// TestLookup gives two logs with room for few records the same spans, some with an id that
// others had. The records of one come into the index at once, as if it were asked each time.
// The other one is asked from time to time, when most have made room without. They find the
// same records.
func TestLookup(t *testing.T) {
	t.Run("many run", func(t *testing.T) { testLookup(t, 8, 9) })
	t.Run("few run", func(t *testing.T) { testLookup(t, 500, 2) })
}

// testLookup lets one of some spans run on, and ends one of these after one of some others.
func testLookup(t *testing.T, runs, ended int) {
	const spans = 60_000
	asked, left := New(Config{MaxBytes: 1 << 20, Fraction: 1, PerName: 3}), New(Config{MaxBytes: 1 << 20, Fraction: 1, PerName: 3})
	if spans < 10*left.maxRows {
		t.Fatalf("%d records are too many for %d spans", left.maxRows, spans)
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(22, seed))
	var running []sdktrace.ReadOnlySpan
	looks, found := 0, 0
	for i := range spans {
		stub := stubOf(uint64(random.IntN(3*left.maxRows)+1), i)
		if random.IntN(20) == 0 {
			stub.Status.Code = codes.Error
		}
		span := stub.Snapshot()
		starts, ends := random.IntN(10) > 0, random.IntN(runs) > 0
		var late sdktrace.ReadOnlySpan
		if n := len(running); n > 0 && random.IntN(ended) == 0 {
			at := random.IntN(n)
			late, running[at] = running[at], running[n-1]
			running = running[:n-1]
		}
		settles := random.IntN(2) == 0
		for _, l := range []*Log{asked, left} {
			if starts {
				l.start(&stub.SpanContext, &stub.Parent, stub.Name, stub.StartTime, stub.Resource)
			}
			if settles {
				l.Settle() // A start does not always come with its end.
			}
			if ends {
				l.End(span)
			}
			if late != nil {
				l.End(late)
			}
			l.Settle()
		}
		if !ends {
			running = append(running, span)
		}
		asked.indexAll()
		if i%(6*left.maxRows) < left.maxRows && random.IntN(200) == 0 || i == spans-1 {
			looks++
			if found = sameLookups(t, asked, left); t.Failed() {
				t.Fatalf("at span %d, seed %d", i, seed)
			}
		}
	}
	t.Logf("%d records, %d found, looked for %d times; %d made room, of %d that ended", left.maxRows, found, looks, left.evicted, left.ended)
	if left.evicted < spans/2 || runs < 100 && left.forgotten == 0 {
		t.Errorf("%d spans made room, %d while they ran", left.evicted, left.forgotten)
	}
}

// stubOf returns a local root with an id, which starts as the nth of all.
func stubOf(id uint64, nth int) tracetest.SpanStub {
	var span trace.SpanID
	binary.BigEndian.PutUint64(span[:], id)
	start := epoch.Add(time.Duration(nth) * time.Millisecond)
	return tracetest.SpanStub{
		Name:        fmt.Sprint("GET /", nth%5),
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: span}),
		StartTime:   start,
		EndTime:     start.Add(time.Duration(nth%1000) * time.Microsecond),
	}
}

// sameLookups looks for the ids of all records in two logs, and returns how many of one are
// found.
func sameLookups(t *testing.T, asked, left *Log) (found int) {
	t.Helper()
	for _, l := range []*Log{asked, left} {
		l.lockIndexed()
		defer l.mu.Unlock()
	}
	for i := range len(asked.chunks) * chunkLen {
		id := rowID(i + 1)
		if a, b := *asked.row(id), *left.row(id); a.SpanID != b.SpanID || a.list != b.list || a.Start != b.Start {
			t.Fatalf("record %d: %v, %v", id, a, b)
		}
		r := left.row(id)
		if r.list == freeList {
			continue
		}
		key := ident.NewKey(r.SpanID)
		want, ok := asked.indexed(key)
		got, has := left.indexed(key)
		switch {
		case !ok && has && left.row(got).list != freeList:
			// The newest has gone: whether an older one is found is open.
		case ok != has || got != want:
			t.Errorf("by %x record %d is found: %t, want %d: %t", key, got, has, want, ok)
		}
		if got == id {
			found++
		}
	}
	if n := left.lookup.late.len; n != 0 {
		t.Errorf("%d records are in no index", n)
	}
	return found
}
