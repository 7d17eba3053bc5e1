// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sys/unix"
)

// works are what the workers do, about half a millisecond each. The names of the functions
// are in the stacks of their samples.
var works = [...]struct {
	function string
	do       func()
}{
	{"main.workTight", workTight},
	{"main.workJSON", workJSON},
	{"main.workKernel", workKernel},
}

var sink uint64

//go:noinline
func workTight() {
	x := sink
	for i := range uint64(500_000) {
		x = x*6364136223846793005 + i
	}
	sink = x
}

//go:noinline
func workJSON() {
	for range 50 {
		b, err := json.Marshal(map[string][]string{"items": {"apple", "pear", "plum"}})
		if err == nil {
			err = json.Unmarshal(b, new(map[string][]string))
		}
		if err != nil {
			panic(err)
		}
		sha256.Sum256(b)
	}
}

//go:noinline
func workKernel() {
	f, err := os.Open("/dev/zero")
	if err != nil {
		panic(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := io.ReadFull(f, make([]byte, 2<<20)); err != nil {
		panic(err)
	}
}

// slice is a time in which a thread had the labels of a span for sure, or of none.
type slice struct {
	thread     int64
	start, end time.Time
	span       string
}

// workers have a thread each, and remember what was on it.
type workers struct {
	tracer trace.Tracer

	mu     sync.Mutex
	truth  []slice
	owners map[string]int // which worker made a span
}

// work runs spans of several lengths, a child in each, and the same work without a span.
func (w *workers) work(worker int, ends <-chan struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	do := works[worker].do
	for i := 0; ; i++ {
		select {
		case <-ends:
			return
		default:
		}
		length := []time.Duration{2, 20, 100}[i%3] * time.Millisecond
		ctx, span := w.tracer.Start(context.Background(), works[worker].function)
		id := span.SpanContext().SpanID().String()
		w.mu.Lock()
		w.owners[id] = worker
		w.mu.Unlock()
		w.run(id, length, do)
		_, child := w.tracer.Start(ctx, "child")
		w.run(id, length/2, do)
		child.End()
		span.End()
		w.run("", length, do)
	}
}

func (w *workers) run(span string, length time.Duration, do func()) {
	s := slice{thread: int64(unix.Gettid()), span: span, start: time.Now()}
	for time.Since(s.start) < length {
		do()
	}
	s.end = time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.truth = append(w.truth, s)
}

// owner returns which worker made a span.
func (w *workers) owner(span string) (worker int, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	worker, ok = w.owners[span]
	return worker, ok
}
