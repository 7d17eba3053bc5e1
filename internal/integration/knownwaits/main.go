// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Knownwaits makes spans wait in known ways for known times, under an execution trace. It
// compares the analysis of module exectrace with the program's own clock.
//
//	go run ./internal/integration/knownwaits
//	go run ./internal/integration/knownwaits -o waits.trace
//
// A wait ends in a trace when another goroutine ends it. The program's clock stops when the
// goroutine runs again, so its time of being ready is added to the wait. The clock is wrong if
// Linux preempted the thread beside the wait: the median is the figure.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	rtrace "runtime/trace"
	"slices"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exectrace"
)

func main() {
	rounds := flag.Int("rounds", 3, "number of waits of each kind")
	out := flag.String("o", "", "write the trace to this `file`")
	flag.Parse()
	if err := run(*rounds, *out); err != nil {
		fmt.Fprintln(os.Stderr, "knownwaits:", err)
		os.Exit(1)
	}
}

func run(rounds int, out string) error {
	right := 0
	var off []time.Duration
	fmt.Printf("%-18s %10s %10s %10s %10s  %s\n", "wait", "clock ms", "wait ms", "ready ms", "off by ms", "blockers")
	for range rounds {
		results, trace, err := record(20 * time.Millisecond)
		if err != nil {
			return err
		}
		if out != "" {
			if err := os.WriteFile(out, trace, 0o600); err != nil {
				return err
			}
		}
		for i := range results {
			r, wrong := &results[i], ""
			if slices.Equal(r.got, r.blockers) {
				right++
			} else {
				wrong = fmt.Sprintf("  WRONG: want %v", r.blockers)
			}
			by := r.clock - r.waited - r.ready
			off = append(off, by.Abs())
			fmt.Printf("%-18s %10.3f %10.3f %10.3f %10.3f  %v%s\n", r.name, ms(r.clock), ms(r.waited), ms(r.ready), ms(by), r.got, wrong)
		}
	}
	slices.Sort(off)
	fmt.Printf("%s: %d of %d with the right blockers; off by %.3f ms in the median, %.3f ms at most\n", runtime.Version(), right, len(off), ms(off[len(off)/2]), ms(off[len(off)-1]))
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// result is a known wait, by the program's clock and by its trace.
type result struct {
	known
	clock, waited, ready time.Duration
	got                  []string // blockers in the trace
	span                 exectrace.Span
}

// record runs all waits once under an execution trace.
func record(wait time.Duration) ([]result, []byte, error) {
	var log bytes.Buffer
	if err := rtrace.Start(&log); err != nil {
		return nil, nil, err
	}
	results := runAll(wait)
	rtrace.Stop()
	a, err := exectrace.Analyze(bytes.NewReader(log.Bytes()), exectrace.Query{Slowest: 1000})
	if err != nil {
		return nil, nil, err
	}
	for i := range results {
		if err := results[i].find(a); err != nil {
			return nil, nil, err
		}
	}
	return results, log.Bytes(), nil
}

// find reads the wait of the span with r's id.
func (r *result) find(a *exectrace.Analysis) error {
	i := slices.IndexFunc(a.Spans, func(s exectrace.Span) bool { return s.ID == r.span.ID })
	if i < 0 {
		return fmt.Errorf("no span %q in the trace", r.name)
	}
	r.span = a.Spans[i]
	for _, state := range r.span.Goroutines[0].States {
		switch state.State {
		case r.state:
			r.waited += state.Duration
		case "runnable":
			r.ready += state.Duration
		}
	}
	w := slices.IndexFunc(r.span.Waits, func(w exectrace.Wait) bool { return w.State == r.state }) // the longest
	if w < 0 {
		return nil
	}
	for _, b := range r.span.Waits[w].Blockers {
		if b.Span != "" && b.Duration > r.span.Waits[w].Duration/50 {
			r.got = append(r.got, b.Span)
		}
	}
	return nil
}

// runAll runs each kind of wait in a local root of its name.
func runAll(wait time.Duration) []result {
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("knownwaits")
	results := make([]result, len(kinds))
	for i, k := range kinds {
		w := &waiter{wait: wait, tracer: tracer, about: make(chan struct{})}
		act, after := k.prepare(w)
		results[i].known = k
		results[i].run(w, act, after)
	}
	return results
}

// run waits, and measures the wait.
func (r *result) run(w *waiter, act, after func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	close(w.about) // before the span: it may run another goroutine first
	ctx, span := w.tracer.Start(context.Background(), r.name)
	w.ctx = ctx
	begin := time.Now()
	act()
	r.clock = time.Since(begin)
	span.End()
	after()
	w.helpers.Wait()
	r.span.ID = span.SpanContext().SpanID().String()
}
