// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import "testing"

// TestViewsDoNotBlock records spans from the midst of a list of them: where that
// held the lock, it would never end.
func TestViewsDoNotBlock(t *testing.T) {
	l := New(Config{MaxBytes: 1 << 20, Fraction: 1})
	tracer := newTracer(l)
	record := func() {
		_, span := tracer.Start(t.Context(), "GET /")
		span.End()
	}
	for range 300 {
		record()
	}
	visited := 0
	v := l.Open(nil)
	defer v.Close()
	v.Each(func(*Row) bool { return true }, func(*Record) {
		record()
		visited++
	})
	if visited != 300 {
		t.Errorf("got %d spans, want 300", visited)
	}
}

// TestViewsAreBounded opens views that are never closed: what they keep is bounded,
// and when all are closed nothing is left.
func TestViewsAreBounded(t *testing.T) {
	l := New(Config{MaxBytes: 1 << 18, Fraction: 1})
	tracer := newTracer(l)
	var views []*View
	var last *View
	shared := 0
	for range 50 {
		v := l.Open(last)
		if v == last {
			shared++
		}
		last = v
		views = append(views, v)
		for range l.maxRows / 4 {
			_, span := tracer.Start(t.Context(), "GET /")
			span.End()
		}
		l.Settle()
		if saved := l.history.saved; saved > 2*l.maxRows {
			t.Fatalf("%d records are kept for views, %d in the log", saved, l.maxRows)
		}
	}
	if shared == 0 {
		t.Error("no view is shared")
	}
	for i, v := range views {
		if none := v.Close(); none != (i == len(views)-1) {
			t.Errorf("view %d: none is open any more: %t", i, none)
		}
	}
	if h := l.history; h != (history{}) {
		t.Errorf("%+v is left", h)
	}
	// One that is opened late has the present again.
	v := l.Open(nil)
	defer v.Close()
	listed := 0
	v.Each(func(*Row) bool { return true }, func(*Record) { listed++ })
	if listed != v.Totals.Held {
		t.Errorf("got %d spans, want %d", listed, v.Totals.Held)
	}
}
