// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/pprof"
	rtrace "runtime/trace"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/store"
)

// fewest is how many recordings of each kind a run has to have.
const fewest = 2

// mostLonger is how much longer than asked for a run may take until recordings hold spans.
const mostLonger = 5 * time.Minute

const (
	usualEvery = 8 * time.Second
	// usualWindow is three times what a span waits for its reading, as the program may stall.
	usualWindow = 30 * time.Second
	// usualEdge is more than a thread was seen to be taken away by 20 programs on 2 cores.
	usualEdge = time.Second
)

// recorder is what keeps the flight recorder on.
type recorder interface {
	start(*spanprof.TracerProvider, *ledger) error
	read() error  // while another trace is on
	check() error // after that
	held() bool   // whether a recording held spans
	stop() error
	result() *source
}

// soak is a run.
type soak struct {
	every, window time.Duration
	beside        time.Duration // the length of a trace beside the flight recorder
	edge          time.Duration // of a recording, see source
	keep          string        // the directory of recordings that cannot be read, if there is one
	direct        bool          // without exectrace.Start

	store       *store.Store
	recorder    recorder
	traces      source
	spans       int
	changes     atomic.Int64 // of GOMAXPROCS
	profiles    atomic.Int64
	collections atomic.Int64
}

// newSoak returns a run that reads the flight recorder by itself if direct is true.
func newSoak(direct bool) (*soak, error) {
	st, err := store.New(store.WithMaxBytes(storeBytes))
	return &soak{direct: direct, every: usualEvery, window: usualWindow, beside: usualEvery / 2, edge: usualEdge, store: st}, err
}

// run runs for length, and on until both kinds of recordings held a span, and a trace was
// recorded more than once, or ctx ends. It is an error if that takes long.
func (s *soak) run(ctx context.Context, length time.Duration) (err error) {
	defer func() { err = errors.Join(err, s.store.Shutdown(context.WithoutCancel(ctx))) }()
	if s.direct {
		s.recorder = &direct{source: source{name: "flight recorder", keep: s.keep, edge: s.edge}, window: s.window}
	} else {
		s.recorder = &started{source: source{name: "exectrace.Start", edge: s.edge}, store: s.store, window: s.window}
	}
	s.traces = source{name: "trace.Start", keep: s.keep, edge: s.edge}
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.store.SpanProcessor())))
	l := &ledger{tracer: tp.Tracer("tracesoak"), keep: s.window + 5*time.Minute, begin: time.Now()}
	w, err := newLoad(l)
	if err != nil {
		return err
	}
	defer w.close()
	if err := s.recorder.start(tp, l); err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(ctx)
	var working sync.WaitGroup
	w.start(ctx, &working)
	s.disturb(ctx, &working)
	failed := s.record(ctx, l, length)
	cancel()
	working.Wait()
	s.spans = l.count()
	return errors.Join(failed, s.recorder.stop())
}

// disturb begins what is done to the whole process.
func (s *soak) disturb(ctx context.Context, working *sync.WaitGroup) {
	procs := runtime.GOMAXPROCS(0)
	working.Go(func() {
		defer runtime.GOMAXPROCS(procs)
		for n := 1; ctx.Err() == nil; n = n%4 + 1 {
			runtime.GOMAXPROCS(n)
			s.changes.Add(1)
			pause(ctx, 100*time.Millisecond)
		}
	})
	working.Go(func() {
		for ctx.Err() == nil {
			if pprof.StartCPUProfile(io.Discard) == nil {
				s.profiles.Add(1)
				pause(ctx, 300*time.Millisecond)
				pprof.StopCPUProfile()
			}
			pause(ctx, 200*time.Millisecond)
		}
	})
	working.Go(func() {
		for ctx.Err() == nil {
			runtime.GC()
			s.collections.Add(1)
			pause(ctx, 200*time.Millisecond)
		}
	})
}

// record records traces beside the flight recorder, and has that one read and checked, in
// turns: the reading of one is in the recordings of the other.
func (s *soak) record(ctx context.Context, l *ledger, length time.Duration) error {
	for from := time.Now(); ctx.Err() == nil; {
		var trace bytes.Buffer
		if rtrace.Start(&trace) != nil { // the recorder has a trace of its own on while it stops
			pause(ctx, 10*time.Millisecond)
			continue
		}
		pause(ctx, s.beside)
		if err := s.recorder.read(); err != nil {
			return fmt.Errorf("read the flight recorder: %w", err)
		}
		rtrace.Stop()
		if err := s.recorder.check(); err != nil {
			return err
		}
		s.traces.checkAll(trace.Bytes(), l)
		if time.Since(from) >= length && s.recorder.held() && s.traces.found > 0 && s.traces.recordings >= fewest {
			return nil
		}
		if time.Since(from) >= length+mostLonger {
			return fmt.Errorf("after %v there were too few recordings, or no span is as far from the ends of one as it has to be:\n%s", time.Since(from), s.report())
		}
		pause(ctx, s.every-s.beside)
	}
	return nil
}

func (s *soak) passed() bool {
	return s.recorder.result().passed() && s.traces.passed()
}

func (s *source) passed() bool {
	return s.recordings >= fewest && s.expected > 0 && s.found == s.expected && s.parseErrors == 0 && s.missing == 0 && s.wrong == 0
}

func (s *soak) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d spans, %d changes of GOMAXPROCS, %d CPU profiles, %d collections asked for\n",
		runtime.Version(), s.spans, s.changes.Load(), s.profiles.Load(), s.collections.Load())
	fmt.Fprintf(&b, "%-16s %10s %9s %8s %8s %12s %6s %10s\n", "", "recordings", "spans in", "found", "missing", "parse errors", "wrong", "off by ms")
	sources := []*source{s.recorder.result(), &s.traces}
	for _, f := range sources {
		fmt.Fprintf(&b, "%-16s %10d %9d %8d %8d %12d %6d %10.3f\n", f.name, f.recordings,
			f.expected, f.found, f.missing, f.parseErrors, f.wrong, float64(f.off)/float64(time.Millisecond))
	}
	for _, f := range sources {
		if f.counts != "" {
			fmt.Fprintf(&b, "%s: %s\n", f.name, f.counts)
		}
		for _, m := range f.mistakes {
			b.WriteString(m + "\n")
		}
	}
	return b.String()
}
