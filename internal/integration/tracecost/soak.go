// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"runtime/pprof"
	rtrace "runtime/trace"
	"strings"
	"sync"
	"time"

	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/store"
)

// settled is the time until the outcome of a span is certain, on a busy machine.
const settled = 30 * time.Second

// written is a local root by the program's clock: before and after each call.
type written struct {
	name                         string
	start, began, ending, finish time.Time
}

// soaked is the result of a soak.
type soaked struct {
	mu       sync.Mutex
	spans    map[string]written
	all      int
	found    int
	mistakes []string
	counts   string
}

func (r *soaked) String() string {
	return fmt.Sprintf("%s: %d spans, %d compared, %d wrong or missing\n%s\n", runtime.Version(), r.all, r.found, len(r.mistakes), r.counts)
}

// soak runs hard spans. Each is slow to the recorder, and 128 of one reading have exact times.
func (s *service) soak(length time.Duration) (*soaked, error) {
	r, err := exectrace.Start(s.tp, s.store, exectrace.WithThreshold(1), exectrace.WithBudget(1), exectrace.WithWindow(time.Minute))
	if err != nil {
		return nil, err
	}
	out := &soaked{spans: map[string]written{}}
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	var working sync.WaitGroup
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, w := range []struct {
		pause time.Duration
		run   func()
	}{
		{40 * time.Millisecond, func() { s.locked(out) }},
		{40 * time.Millisecond, func() { s.locked(out) }},
		{20 * time.Millisecond, func() { s.span(out, "allocate", func() { s.garbage = make([]byte, 1<<20) }) }},
		{50 * time.Millisecond, func() { s.dyingThread(out) }},
		{100 * time.Millisecond, func() { s.span(out, "fork", func() { _ = exec.Command("true").Run() }) }},
		{200 * time.Millisecond, func() { s.span(out, "deep "+strings.Repeat("x", 200), func() { deep(200) }) }},
		{100 * time.Millisecond, func() { runtime.GOMAXPROCS(1 + int(time.Now().UnixNano()/1000%4)) }},
		{200 * time.Millisecond, runtime.GC},
		{200 * time.Millisecond, func() {
			if pprof.StartCPUProfile(io.Discard) == nil {
				time.Sleep(300 * time.Millisecond)
				pprof.StopCPUProfile()
			}
		}},
		{8 * time.Second, func() {
			if rtrace.Start(io.Discard) == nil {
				time.Sleep(time.Second)
				rtrace.Stop()
			}
		}},
	} {
		working.Go(func() {
			for ctx.Err() == nil {
				w.run()
				select {
				case <-ctx.Done():
				case <-time.After(w.pause):
				}
			}
		})
	}
	for ctx.Err() == nil {
		time.Sleep(time.Second)
		if err := out.compare(s.store, time.Now().Add(-settled)); err != nil {
			return nil, err
		}
	}
	working.Wait()
	time.Sleep(min(settled, length))
	if err := out.compare(s.store, time.Now()); err != nil {
		return nil, err
	}
	out.counts = counts(r)
	if err := r.Shutdown(context.Background()); err != nil {
		return nil, err
	}
	if len(out.mistakes) > 0 || out.found == 0 {
		return nil, fmt.Errorf("%s%s", out, strings.Join(out.mistakes[:min(len(out.mistakes), 10)], "\n"))
	}
	return out, nil
}

func (s *service) locked(out *soaked) {
	s.span(out, "lock", func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		time.Sleep(time.Millisecond)
	})
}

// dyingThread ends the thread of a span with its goroutine.
func (s *service) dyingThread(out *soaked) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // without the unlock
		s.span(out, "dying thread", func() { time.Sleep(100 * time.Microsecond) })
	}()
	<-done
}

//go:noinline
func deep(n int) int {
	if n == 0 {
		time.Sleep(100 * time.Microsecond)
		return 0
	}
	return 1 + deep(n-1)
}

func (s *service) span(out *soaked, name string, do func()) {
	w := written{name: name, start: time.Now()}
	_, span := s.tracer.Start(context.Background(), name)
	w.began = time.Now()
	do()
	w.ending = time.Now()
	span.End()
	w.finish = time.Now()
	out.mu.Lock()
	defer out.mu.Unlock()
	out.spans[span.SpanContext().SpanID().String()] = w
	out.all++
}

// compare compares spans from before a time with their exact times, and forgets them.
func (r *soaked) compare(s *store.Store, until time.Time) error {
	v, err := s.View(context.Background(), time.Time{}, time.Time{})
	if err != nil {
		return err
	}
	defer v.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, want := range r.spans {
		if want.finish.After(until) {
			continue
		}
		delete(r.spans, id)
		list, err := v.Spans(store.SpanQuery{ID: id, Exact: true, Brief: true})
		if err != nil {
			return err
		}
		if len(list.Spans) == 0 || list.Spans[0].ExactTimes == nil {
			continue // not among the slowest of a reading
		}
		var got exectrace.Span
		if err := json.Unmarshal(list.Spans[0].ExactTimes, &got); err != nil {
			return err
		}
		r.check(&got, want)
	}
	return nil
}

func (r *soaked) check(got *exectrace.Span, want written) {
	r.found++
	var sum time.Duration
	if len(got.Goroutines) > 0 {
		for _, state := range got.Goroutines[0].States {
			sum += state.Duration
		}
	}
	// Events may be late in a trace if their threads were preempted.
	const slack = 20 * time.Millisecond
	least, most := want.ending.Sub(want.began)-slack, want.finish.Sub(want.start)+slack
	if got.Name != want.name || len(got.Holes) > 0 || sum != got.Duration || got.Duration < least || got.Duration > most {
		r.mistakes = append(r.mistakes, fmt.Sprintf("span %q %s: %v, states %v, holes %+v, want %v to %v", want.name, got.ID, got.Duration, sum, got.Holes, least, most))
	}
}
