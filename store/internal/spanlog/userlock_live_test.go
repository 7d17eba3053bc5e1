// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package spanlog

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// startsSpans is an error, and a value of a panic, whose text starts spans.
type startsSpans func()

func (f startsSpans) Error() string  { f(); return "error" }
func (f startsSpans) String() string { f(); return "panic" }

// The SDK asks errors and values of panics for their text while it holds the lock of their
// span. Spans that start and end there may fill each ring.
func TestSpansInsideOfASpansLock(t *testing.T) {
	l := New(Config{MaxBytes: 1 << 20})
	tracer := newTracer(l)
	start := func() trace.Span {
		_, span := tracer.Start(t.Context(), "GET /")
		return span
	}
	events := len(l.queue.shards) * int(l.queue.ringLen)
	work := startsSpans(func() {
		for range 2 * events {
			start().End()
		}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		start().RecordError(work)
		defer func() { _ = recover() }()
		defer start().End()
		panic(work)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a span's lock and that of the log wait for each other")
	}
	l.Settle()
	if got, want := l.ended, int64(4*events+1); got != want {
		t.Errorf("%d spans ended, want %d", got, want)
	}
}
