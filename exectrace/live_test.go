// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace_test

import (
	"bytes"
	"context"
	"runtime"
	"runtime/pprof"
	rtrace "runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exectrace"
)

// analyzed returns the analysis of a trace of f.
func analyzed(t *testing.T, f func()) *exectrace.Analysis {
	t.Helper()
	var log bytes.Buffer
	if err := rtrace.Start(&log); err != nil {
		t.Skipf("an execution trace is on already: %v", err) // go test -trace
	}
	f()
	rtrace.Stop()
	a, err := exectrace.Analyze(&log, exectrace.WithSlowest(1000))
	if err != nil {
		t.Fatal(err)
	}
	checkSums(t, a)
	return a
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

func reasons(s *exectrace.Span) string {
	var list []string
	for _, h := range s.Holes {
		list = append(list, h.Reason)
	}
	return strings.Join(list, "; ")
}

// A span that leaves its goroutine has a hole with a name.
func TestHoles(t *testing.T) {
	var ids []int64
	a := analyzed(t, func() {
		_, end := begin("handed on")
		_, endNext := begin("next") // is not a child of the one before
		time.Sleep(time.Millisecond)
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
	ids = append(ids, handed.Goroutines[0].ID)
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
	if got := find(t, a, "next"); len(got.Holes) != 0 || got.Goroutines[0].ID != ids[0] {
		t.Errorf("the span in between: %+v", got)
	}
}

// orphan begins a span, and ends before the span does.
//
//go:noinline
func orphan(ended chan<- func()) {
	_, end := begin("orphaned")
	ended <- end
}

// stacks returns those of all goroutines.
func stacks(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The garbage collector wakes goroutines, and the scheduler wakes those that slept from
// within whatever runs: neither is what a span waited for.
func TestNoFalseBlockersInGC(t *testing.T) {
	const sleepers, rounds = 8, 20
	a := analyzed(t, func() {
		stop := make(chan struct{})
		var allocating, sleeping sync.WaitGroup
		for range 2 * runtime.GOMAXPROCS(0) {
			allocating.Go(func() {
				for {
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
	slept := 0
	for _, s := range a.Spans {
		for _, w := range s.Waits {
			for _, b := range w.Blockers {
				t.Errorf("span %q: a wait of state %q has the blocker %+v", s.Name, w.State, b)
			}
		}
		if s.Name == "sleep" {
			slept++
		}
	}
	if slept == 0 {
		t.Error("no span that slept is among the slowest")
	}
}

// What ran while a span's goroutine was ready has a name.
func TestRunners(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	a := analyzed(t, func() {
		_, end := begin("waits for a thread")
		ready, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			_, end := begin("uses the thread")
			close(ready) // and keeps the only thread
			for from := time.Now(); time.Since(from) < 2*time.Millisecond; {
			}
			end()
		}()
		<-ready
		end()
		<-done
	})
	s := find(t, a, "waits for a thread")
	if !slices.ContainsFunc(s.Runners, func(r exectrace.Runner) bool { return r.Span == "uses the thread" }) {
		t.Errorf("there ran %+v", s.Runners)
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
