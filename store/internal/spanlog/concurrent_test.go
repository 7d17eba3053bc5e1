// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// TestConcurrentEvents starts and ends spans in many goroutines while views are opened.
// Some end on another goroutine than they started on. Each view has all that ended
// before it was opened, nothing of what starts later, and no span twice; its numbers agree.
func TestConcurrentEvents(t *testing.T) {
	const goroutines, each = 8, 500
	var rootsCounted atomic.Int64
	l := New(Config{
		MaxBytes: 16 << 20, Fraction: 1, PerName: 5, Keys: attributes.NewKeys(nil),
		Root: func(string, bool) { rootsCounted.Add(1) },
	})
	if l.maxRows < 2*goroutines*each {
		t.Fatalf("%d records hold not all spans", l.maxRows)
	}
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorderOfRoots{recorder{l}})).Tracer("")
	var (
		startedRoots, endedRoots atomic.Int64
		work, views              sync.WaitGroup
		done                     = make(chan struct{})
		handed                   = make(chan trace.Span, goroutines)
	)
	end := func(span trace.Span, random *rand.Rand) {
		if random.IntN(10) == 0 {
			span.SetStatus(codes.Error, "out of stock")
		}
		span.End()
		endedRoots.Add(1)
	}
	for g := range goroutines {
		work.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 22))
			for i := range each {
				startedRoots.Add(1)
				ctx, root := tracer.Start(t.Context(), fmt.Sprint("GET /", i%7), trace.WithAttributes(attribute.String("http.route", fmt.Sprint("/", i%7))))
				if random.IntN(3) == 0 {
					_, child := tracer.Start(ctx, "query", trace.WithAttributes(attribute.String("db.query.text", "q"+root.SpanContext().SpanID().String())))
					child.End()
				}
				switch random.IntN(4) {
				case 0:
					// Another goroutine ends it.
					select {
					case handed <- root:
					default:
						end(root, random)
					}
				case 1:
					select {
					case other := <-handed:
						end(other, random)
					default:
					}
					end(root, random)
				default:
					end(root, random)
				}
			}
		})
	}
	for range 2 {
		views.Go(func() {
			var lastEnded int64
			for {
				// These bound what the view has to show.
				endedBefore := endedRoots.Load()
				v := l.Open(nil)
				startedAfter := startedRoots.Load()
				lastEnded = checkView(t, v, endedBefore, startedAfter, lastEnded)
				v.Close()
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	work.Wait()
	close(done)
	views.Wait()
	close(handed)
	for span := range handed {
		end(span, rand.New(rand.NewPCG(1, 2)))
	}
	v := l.Open(nil)
	defer v.Close()
	all := int64(goroutines * each)
	checkView(t, v, all, all, 0)
	if v.Totals.Running != 0 || v.Totals.Ended != all || rootsCounted.Load() != all {
		t.Errorf("%d ended and %d counted of %d, %d run", v.Totals.Ended, rootsCounted.Load(), all, v.Totals.Running)
	}
	if n := l.queue.seq.Load() - l.queue.known.Load(); n != 0 {
		t.Errorf("%d events are left", n)
	}
}

// recorderOfRoots gives the starts of local roots to a log, and all ends.
type recorderOfRoots struct{ recorder }

func (r recorderOfRoots) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) {
	if !s.Parent().IsValid() {
		r.log.Start(s)
	}
}

// checkView checks a view of a log without evictions, and returns how many spans
// have ended.
func checkView(t *testing.T, v *View, endedBefore, startedAfter, lastEnded int64) int64 {
	t.Helper()
	var ended, running, failed int64
	seen := make(map[ident.Key]bool)
	v.Each(func(*Row) bool { return true }, func(r *Record) {
		key := ident.NewKey(r.SpanID)
		if seen[key] {
			t.Errorf("span %v is there twice", key)
		}
		seen[key] = true
		if !r.LocalRoot || !r.TraceID.IsValid() || r.Start == 0 || r.Name == nil || r.Name.Value == "" {
			t.Errorf("half a record: %+v", r)
		}
		if r.Running() {
			running++
			return
		}
		ended++
		if r.Err {
			failed++
		}
		// A child ends before its root, which carries its attributes.
		for e := range v.Attributes(r) {
			if e.OfChild && e.Value != "q"+r.SpanID.String() {
				t.Errorf("span %v has the query of %s", r.SpanID, e.Value)
			}
		}
	})
	var counted, errors int64
	for _, c := range v.Counts {
		counted += c.Spans
		errors += c.Errors
	}
	switch totals := v.Totals; {
	case ended != totals.Ended, running != int64(totals.Running), ended != int64(totals.Held), ended != counted, failed != errors:
		t.Errorf("%d ended, %d run, %d failed; the totals are %+v, counted %d and %d", ended, running, failed, totals, counted, errors)
	case ended < endedBefore, ended+running > startedAfter:
		t.Errorf("%d ended and %d run: %d had ended before, %d had started after", ended, running, endedBefore, startedAfter)
	case ended < lastEnded:
		t.Errorf("%d ended, %d in the view before", ended, lastEnded)
	}
	return ended
}

// Goroutines that share one small ring, and fill it all the time, lose nothing.
func TestFullRing(t *testing.T) {
	const goroutines, each = 8, 2000
	l := New(Config{MaxBytes: 1 << 18})
	if len(l.queue.shards) != 1 {
		t.Fatalf("%d shards", len(l.queue.shards))
	}
	tracer := newTracer(l)
	var work sync.WaitGroup
	for range goroutines {
		work.Go(func() {
			for range each {
				_, span := tracer.Start(t.Context(), "GET /")
				span.End()
			}
		})
	}
	work.Wait()
	if totals := l.Totals(); totals.Ended != goroutines*each || totals.Running != 0 {
		t.Errorf("%d ended and %d run of %d", totals.Ended, totals.Running, goroutines*each)
	}
}

// Events come in the order in which they were recorded, whatever shard they are in.
func TestEventOrder(t *testing.T) {
	l := New(Config{MaxBytes: 4 << 20, Fraction: 1})
	if len(l.queue.shards) < 2 {
		t.Fatal("one shard says nothing")
	}
	var want, got []ident.Key
	for i := range 2000 {
		key := ident.Key(i + 1)
		want = append(want, key)
		onShard(l, i*7, func(s *shard) {
			e := event{kind: ended, key: key, name: "GET /", start: int64(i), local: true}
			e.seq = l.queue.seq.Add(1)
			if s.ring == nil {
				s.ring = make([]event, l.queue.ringLen)
			}
			s.ring[s.tail&(l.queue.ringLen-1)] = e
			s.tail++
		})
		if i%50 == 49 {
			l.Settle()
		}
	}
	l.Settle()
	for id := l.lists[newestList].first; id != 0; id = l.row(id).next {
		got = append(got, ident.NewKey(l.row(id).SpanID))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d events came in another order", len(got))
	}
}

func onShard(l *Log, i int, do func(*shard)) {
	s := &l.queue.shards[i%len(l.queue.shards)]
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s)
}
