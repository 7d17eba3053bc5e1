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
// Linux preempted the thread beside the wait, or if the span took longer. Then the wait is
// repeated, and counted.
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
	"syscall"
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
	right, all, again := 0, 0, 0
	var sum, most time.Duration
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
			r := &results[i]
			wrong := r.wrong()
			if all++; wrong == "" {
				right++
			}
			again += r.again
			sum, most = sum+r.off().Abs(), max(most, r.off().Abs())
			fmt.Printf("%-18s %10.3f %10.3f %10.3f %10.3f  %v%s\n", r.name, ms(r.clock), ms(r.waited), ms(r.ready), ms(r.off()), r.got, wrong)
		}
	}
	fmt.Printf("%s: %d of %d right: within max(1 %%, 0.2 ms) of the clock, with the right blockers\n", runtime.Version(), right, all)
	fmt.Printf("off by %.3f ms in the mean, %.3f ms at most; %d waits were repeated, because the clock was wrong\n", ms(sum/time.Duration(max(all, 1))), ms(most), again)
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// result is a known wait, by the program's clock and by its trace.
type result struct {
	known
	clock, waited, ready time.Duration
	again                int
	got                  []string // blockers in the trace
	span                 exectrace.Span
}

func (r *result) off() time.Duration { return r.clock - r.waited - r.ready }

func (r *result) wrong() string {
	switch {
	case r.off().Abs() > max(r.clock/100, 200*time.Microsecond):
		return "  WRONG: time"
	case !slices.Equal(r.got, r.blockers):
		return fmt.Sprintf("  WRONG: blockers, want %v", r.blockers)
	}
	return ""
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

const (
	// mostAgain bounds the repetitions of a wait.
	mostAgain = 20
	// mostOutside is the largest time of a span outside of the clock: half of the tolerance.
	mostOutside = 100 * time.Microsecond
)

// runAll runs each kind of wait in a local root of its name.
func runAll(wait time.Duration) (results []result) {
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("knownwaits")
	for _, k := range kinds {
		for again := 0; ; again++ {
			w := &waiter{wait: wait, tracer: tracer, about: make(chan struct{})}
			act, after := k.prepare(w)
			r := result{known: k, again: again}
			if r.run(w, act, after) || again == mostAgain {
				results = append(results, r)
				break
			}
		}
	}
	return results
}

// run waits, and reports whether the clock is right.
func (r *result) run(w *waiter, act, after func()) (undisturbed bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	close(w.about) // before the span: it may run another goroutine first
	started := time.Now()
	ctx, span := w.tracer.Start(context.Background(), r.name)
	w.ctx = ctx
	before := preemptions()
	begin := time.Now()
	act()
	r.clock = time.Since(begin)
	disturbed := preemptions() != before
	span.End()
	outside := time.Since(started) - r.clock
	after()
	w.helpers.Wait()
	r.span.ID = span.SpanContext().SpanID().String()
	return !disturbed && outside < mostOutside
}

// preemptions returns the number of involuntary switches of the calling thread.
func preemptions() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return u.Nivcsw
}
