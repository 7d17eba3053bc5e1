// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/ident"
)

// A directory gets a span once its samples have come, also one that outlives others: after a
// crash it would have none otherwise.
func TestWithItsSamples(t *testing.T) {
	l := New(Config{MaxBytes: 1 << 20, PerName: 2, Fraction: 1})
	tracer := newTracer(l)
	var spans []trace.Span
	for _, from := range []float64{0.1, 1.1} {
		_, span := tracer.Start(t.Context(), "GET /slow", at(from))
		span.End(at(from + 0.5))
		spans = append(spans, span)
	}
	seen := func(each func(func(*Record))) (seen [2]bool) {
		each(func(r *Record) {
			for i, span := range spans {
				seen[i] = seen[i] || ident.NewKey(r.SpanID) == keyOf(span)
			}
		})
		return seen
	}
	pinned := func(everything bool) [2]bool {
		return seen(func(visit func(*Record)) { l.EachPinned(everything, visit) })
	}
	ended := func() [2]bool {
		return seen(func(visit func(*Record)) { l.TakeEnded(false, true, visit) })
	}
	if got := pinned(false); got != [2]bool{true, true} {
		t.Errorf("where no CPU profile ever came: %v", got)
	}
	for n, want := range [][2]bool{{true, false}, {true, true}} {
		l.ProfiledUntil(epoch.Add(time.Duration(n+1) * step).UnixNano())
		if got := pinned(false); got != want {
			t.Errorf("after window %d: %v outlive others and have their samples, want %v", n, got, want)
		}
		if got := ended(); got != want {
			t.Errorf("after window %d: %v have their samples, want %v", n, got, want)
		}
		if got := pinned(true); got != [2]bool{true, true} {
			t.Errorf("after window %d: %v outlive others", n, got)
		}
	}
}
