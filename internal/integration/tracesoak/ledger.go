// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// written is a local root as the program saw it. Times are since the ledger's begin.
type written struct {
	id, name     string
	began, ended [2]time.Duration // just before and just after the call
}

// ledger has the local roots of the last keep.
type ledger struct {
	tracer trace.Tracer
	keep   time.Duration
	begin  time.Time // of all times here; monotonic

	mu    sync.Mutex
	ended []written
	all   int
}

// span starts a local root and returns its end.
func (l *ledger) span(name string) (ctx context.Context, end func()) {
	w := written{name: name}
	w.began[0] = l.now()
	ctx, s := l.tracer.Start(context.Background(), name)
	w.began[1] = l.now()
	w.id = s.SpanContext().SpanID().String()
	return ctx, func() {
		w.ended[0] = l.now()
		s.End()
		w.ended[1] = l.now()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ended = append(l.ended, w)
		l.all++
	}
}

// child starts a child and returns its end.
func (l *ledger) child(ctx context.Context, name string) (end func()) {
	_, s := l.tracer.Start(ctx, name)
	return func() { s.End() }
}

func (l *ledger) now() time.Duration { return time.Since(l.begin) }

// around returns what was open at any time between two, and forgets what is too old for
// any recording.
func (l *ledger) around(from, to time.Duration) map[string]written {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := map[string]written{}
	kept, oldest := l.ended[:0], l.now()-l.keep
	for _, w := range l.ended {
		if w.ended[1] > from && w.began[0] < to {
			found[w.id] = w
		}
		if w.ended[1] > oldest {
			kept = append(kept, w)
		}
	}
	clear(l.ended[len(kept):])
	l.ended = kept
	return found
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}
