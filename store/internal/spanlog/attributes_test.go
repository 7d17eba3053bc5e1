// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/attributes"
)

// The attributes of children that end after their parents are bounded.
func TestLateChildrenAreBounded(t *testing.T) {
	l := New(Config{MaxBytes: 1 << 20, Fraction: 1, Keys: attributes.NewKeys(nil)})
	tracer := newTracer(l)
	roots := make([]trace.Span, l.maxRows)
	for i := range roots {
		_, roots[i] = tracer.Start(t.Context(), "GET /", at(0))
		roots[i].End(at(1))
	}
	for i, root := range roots {
		l.End(childOf(root, fmt.Sprint("q", i, strings.Repeat(" or a = b", 50))))
		if l.Settle(); l.bytes > l.maxBytes {
			t.Fatalf("%d bytes of %d after %d children", l.bytes, l.maxBytes, i+1)
		}
	}
	if l.evicted == 0 {
		t.Error("nothing had to make room")
	}
}

// Children that end after their parent send what is equal once, and what has no room is
// marked.
func TestLateChildren(t *testing.T) {
	l := New(Config{MaxBytes: 4 << 20, Fraction: 1, Keys: attributes.NewKeys(nil)})
	_, root := newTracer(l).Start(t.Context(), "GET /", at(0))
	root.End(at(1))
	for range 1000 {
		l.End(childOf(root, "SELECT a"))
	}
	if got := describe(l, root); len(got) != 1 || got[0].Value != "SELECT a" {
		t.Fatalf("equal attributes of 1,000 children became %d entries", len(got))
	}
	for i := range 1000 {
		l.End(childOf(root, fmt.Sprint("SELECT q", i)))
	}
	got := describe(l, root)
	if n := len(got); n < 100 || !got[n-1].More || got[n-2].More {
		t.Errorf("%d entries, the last %+v", n, got[n-1])
	}
	if n := len(l.find(t, keyOf(root)).Attributes.String()); n > attributes.MaxOwn+attributes.MaxBelow+1 {
		t.Errorf("%d bytes", n)
	}
	if l.lostAttributes != 0 {
		t.Errorf("%d lost, though the record says that some are left out", l.lostAttributes)
	}

	none := New(Config{MaxBytes: 4 << 20, MinDuration: 2 * step, Fraction: 1, Keys: attributes.NewKeys(nil)})
	_, short := newTracer(none).Start(t.Context(), "GET /", at(0))
	short.End(at(1))
	none.End(childOf(short, "SELECT a"))
	if none.lostAttributes != 0 {
		t.Errorf("%d lost of a span that options leave out", none.lostAttributes)
	}
}

func describe(l *Log, s trace.Span) (list []attributes.Entry) {
	l.Settle()
	id, _ := l.indexed(keyOf(s))
	r := l.record(l.row(id))
	for e := range l.keys.All(r.Attributes.String()) {
		list = append(list, e)
	}
	return list
}

// Two alternating sets of one place are both recognised; a third one displaces the least
// recently seen.
func TestSeenSetsOfOnePlace(t *testing.T) {
	const a, b, c uint64 = 1 << 32, 2 << 32, 3 << 32
	var s seenSets
	for i, step := range []struct {
		hash uint64
		want bool
	}{{a, false}, {b, false}, {a, true}, {b, true}, {a, true}, {c, false}, {a, true}, {b, false}} {
		if got := s.seen(step.hash); got != step.want {
			t.Errorf("step %d: %#x was seen: %v, want %v", i, step.hash, got, step.want)
		}
	}
}
