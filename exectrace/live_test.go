// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	rtrace "runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/internal/loudskip"
)

// tries is the number of recordings of a test. Go 1.26.8 rarely writes one that no reader
// accepts, on a busy machine: "expected a proc but didn't have one".
const tries = 3

// readable analyzes a recording. It returns nil if the runtime wrote it badly.
func readable(t *testing.T, recording []byte, q exectrace.Query) *exectrace.Analysis {
	t.Helper()
	a, err := exectrace.Analyze(bytes.NewReader(recording), q)
	if errors.Is(err, exectrace.ErrDamaged) {
		t.Logf("THE RUNTIME WROTE A RECORDING BADLY, of %d bytes: %v", len(recording), err)
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// again runs a test until it returns true. It returns false if it tested nothing, for example
// because a recording was unreadable.
func again(t *testing.T, test func(t *testing.T) bool) {
	t.Helper()
	for try := range tries {
		tested := false
		if !t.Run(fmt.Sprint("try ", try+1), func(t *testing.T) { tested = test(t) }) || tested {
			return
		}
	}
	t.Errorf("none of %d tries tested anything: see their logs", tries)
}

func reasons(s *exectrace.Span) string {
	var list []string
	for _, h := range s.Holes {
		list = append(list, h.Reason)
	}
	return strings.Join(list, "; ")
}

// analyzed returns the analysis of a trace of f. It runs f again if the runtime writes the trace
// badly.
func analyzed(t *testing.T, f func()) *exectrace.Analysis {
	t.Helper()
	_, a := traced(t, f)
	return a
}

// traced returns the trace of f as well.
func traced(t *testing.T, f func()) ([]byte, *exectrace.Analysis) {
	t.Helper()
	for range tries {
		var log bytes.Buffer
		if err := rtrace.Start(&log); err != nil {
			loudskip.Test(t, "go test -trace has an execution trace on already: "+err.Error())
		}
		f()
		rtrace.Stop()
		if a := readable(t, log.Bytes(), exectrace.Query{Slowest: 1000}); a != nil {
			return log.Bytes(), a
		}
	}
	t.Fatalf("none of %d traces can be read", tries)
	return nil, nil
}

// begin starts a local root as OpenTelemetry's SDK and spanprof do together.
func begin(name string) (ctx context.Context, end func()) {
	ctx, task := rtrace.NewTask(context.Background(), name)
	rtrace.Log(ctx, "spanprof.span", (name + "        ")[:8])
	return ctx, task.End
}

func find(t *testing.T, a *exectrace.Analysis, name string) *exectrace.Span {
	t.Helper()
	i := slices.IndexFunc(a.Spans, func(s exectrace.Span) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no span %q", name)
	}
	return &a.Spans[i]
}

// A span that leaves its goroutine has a hole with a name.
func TestHoles(t *testing.T) {
	a := analyzed(t, func() {
		_, end := begin("handed on")
		_, endNext := begin("next") // is not a child of the one before
		time.Sleep(20 * time.Millisecond)
		endNext()
		done := make(chan struct{})
		go func() {
			defer close(done)
			end()
		}()
		<-done

		ended := make(chan func(), 1)
		go orphan(ended)
		end = <-ended
		for strings.Contains(stacks(t), "exectrace_test.orphan") {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(2 * time.Millisecond)
		end()
		_, _ = begin("open")
	})
	handed := find(t, a, "handed on")
	if got := reasons(handed); !strings.Contains(got, `its goroutine worked for span "next"`) || !strings.Contains(got, "the span ended on goroutine ") {
		t.Errorf("holes of a span that was handed on: %q", got)
	}
	if handed.Holes[0].Duration < time.Millisecond {
		t.Errorf("the first hole has %v, want at least that of the other span", handed.Holes[0].Duration)
	}
	if got := reasons(find(t, a, "orphaned")); !strings.Contains(got, "its goroutine had ended") {
		t.Errorf("holes of a span whose goroutine ended: %q", got)
	}
	if open := find(t, a, "open"); !open.Open || !strings.Contains(reasons(open), "the span had not ended when the trace did") {
		t.Errorf("holes of a span that did not end: %q", reasons(open))
	}
	if got := find(t, a, "next"); len(got.Holes) != 0 || got.Goroutines[0].ID != handed.Goroutines[0].ID {
		t.Errorf("the span in between: %+v", got)
	}
}

// Of a span that began before the trace nothing is known: it takes no time of the spans
// around its end, and its goroutine's time is not its own.
func TestSpanFromBeforeTheTrace(t *testing.T) {
	_, old := rtrace.NewTask(context.Background(), "old")
	a := analyzed(t, func() {
		time.Sleep(time.Millisecond)
		_, end := begin("around")
		time.Sleep(time.Millisecond)
		old.End() // as often as f runs: it began before each of the traces
		time.Sleep(time.Millisecond)
		done := make(chan struct{})
		go func() {
			defer close(done)
			time.Sleep(time.Millisecond)
		}()
		<-done
		end()
	})
	if a.BeganBefore != 1 || len(a.Spans) != 1 {
		t.Fatalf("%d spans began before, and there are %d, want 1 and 1", a.BeganBefore, len(a.Spans))
	}
	around := find(t, a, "around")
	if len(around.Holes) > 0 {
		t.Errorf("holes %+v, want none", around.Holes)
	}
	if len(around.Goroutines) != 2 {
		t.Errorf("it has %d goroutines, want 2: also the one that began after the other's end", len(around.Goroutines))
	}
}

// orphan begins a span, and ends before the span does.
//
//go:noinline
func orphan(ended chan<- func()) {
	_, end := begin("orphaned")
	ended <- end
}

// stacks returns the stacks of all goroutines.
func stacks(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&b, 2); err != nil {
		t.Error(err)
	}
	return b.String()
}

// The garbage collector wakes goroutines, and the scheduler wakes those that slept from
// within whatever runs: neither is what a span waited for.
func TestNoFalseBlockersInGC(t *testing.T) {
	const sleepers, rounds = 8, 20
	log, a := traced(t, func() {
		stop := make(chan struct{})
		var allocating, sleeping sync.WaitGroup
		for range 2 * runtime.GOMAXPROCS(0) {
			allocating.Go(func() {
				for range 2000 { // on a busy machine those that sleep take long
					_, end := begin("allocate")
					keep := make([][]byte, 0, 100)
					for range 100 {
						keep = append(keep, make([]byte, 10_000))
					}
					runtime.KeepAlive(keep)
					end()
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		for range sleepers {
			sleeping.Go(func() {
				for range rounds {
					_, end := begin("sleep")
					time.Sleep(200 * time.Microsecond)
					end()
				}
			})
		}
		runtime.GC()
		sleeping.Wait()
		close(stop)
		allocating.Wait()
	})
	// Those that slept may not be among the slowest.
	sleep, err := exectrace.Analyze(bytes.NewReader(log), exectrace.Query{Name: "sleep", Slowest: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range slices.Concat(a.Spans, sleep.Spans) {
		for _, w := range s.Waits {
			for _, b := range w.Blockers {
				t.Errorf("span %q: a wait of state %q has the blocker %+v", s.Name, w.State, b)
			}
		}
	}
	if got := len(sleep.Spans); got != sleepers*rounds {
		t.Errorf("%d spans that slept are in the trace, want %d", got, sleepers*rounds)
	}
}

// Marks that do not fit their task give no span another's id.
func TestMarksThatDoNotFit(t *testing.T) {
	a := analyzed(t, func() {
		ctx, task := rtrace.NewTask(context.Background(), "unmarked")
		rtrace.Log(ctx, "spanprof.span", "short")
		rtrace.Log(ctx, "other", "12345678")
		done := make(chan struct{})
		go func() { // not where the task began
			defer close(done)
			rtrace.Log(ctx, "spanprof.span", "12345678")
		}()
		<-done
		task.End()
		rtrace.Log(ctx, "spanprof.span", "12345678")

		rtrace.Log(context.Background(), "spanprof.next", "ABCDEFGH")
		_, task = rtrace.NewTask(context.Background(), "marked before")
		task.End()
	})
	if s := find(t, a, "unmarked"); s.ID != "" {
		t.Errorf("a span without mark has the id %s", s.ID)
	}
	if s := find(t, a, "marked before"); s.ID != "4142434445464748" {
		t.Errorf("a span that was marked before its task has the id %q", s.ID)
	}
}
