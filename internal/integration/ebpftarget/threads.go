// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package main

import (
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/ebpfbridge/receiver"
	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

// works are the loads of the threads. The names of the functions are in the stacks of their
// samples.
var works = [...]struct{ load, function string }{{"tight", "main.calculate"}, {"json", "main.encode"}, {"kernel", "main.readZeros"}}

// result is what the program prints of its threads.
type result struct {
	PID int // in the program's own namespace
	// Timeline are the samples that the execution trace has placed. Ambiguous are the others since
	// the first of these on their thread. Elsewhere are on a span of another thread or program.
	Timeline, Ambiguous, Elsewhere int
	Threads                        int // with samples of Timeline
	// Right and Wrong are answers of the trace. Unknown are the missing ones.
	Right, Wrong, Unknown int
	Status                receiver.Status
}

// runThreads runs all works on threads of their own. It ends when the program's own execution
// trace has placed so many samples from the socket of a hostview.
func runThreads(socket string, wanted int64) error {
	s, err := store.New()
	if err != nil {
		return err
	}
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor())))
	recorder, err := exectrace.Start(tp, s, exectrace.WithThreshold(time.Hour), exectrace.WithBudget(1), exectrace.WithWindow(10*time.Second))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	taken := &taken{threads: recorder.Threads(), known: map[int]bool{}}
	r, err := receiver.New(taken, s.Lookup, receiver.WithTimelines(taken))
	if err != nil {
		return err
	}
	subscribed := make(chan error, 1)
	go func() { subscribed <- r.Subscribe(ctx, socket) }()

	var targets [len(works)]target
	var all sync.WaitGroup
	for i, of := range works {
		targets[i] = target{tracer: tp.Tracer("ebpftarget"), work: loads[of.load]}
		all.Go(func() { targets[i].repeat(ctx) })
	}
	for ctx.Err() == nil && taken.placed.Load() < wanted {
		taken.threads.Look()
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	stop()
	all.Wait()
	if err := <-subscribed; err != nil {
		return err
	}
	if err := recorder.Shutdown(context.Background()); err != nil {
		return err
	}
	out := taken.result
	out.PID, out.Timeline, out.Threads, out.Status = os.Getpid(), int(taken.placed.Load()), len(taken.known), r.Status()
	taken.judge(&out, targets[:])
	return json.NewEncoder(os.Stdout).Encode(out)
}

// taken is an Exporter that keeps samples of the works, and Timelines that keep their answers. The
// receiver makes one call at a time.
type taken struct {
	threads *exectrace.Threads
	answers []answer
	samples []sample
	known   map[int]bool // works with samples that the trace has placed
	placed  atomic.Int64
	result  result
}

type answer struct {
	thread int
	at     int64
	span   string
	known  bool
}

// sample is samples of a work on a span.
type sample struct {
	work, n int
	span    string
}

func (t *taken) SpanAt(thread int64, at time.Time) (span string, known bool) {
	span, known = t.threads.SpanAt(thread, at)
	t.answers = append(t.answers, answer{int(thread), at.UnixNano(), span, known})
	return span, known
}

func (t *taken) Export(_ context.Context, p *exporter.Profile) error {
	parsed, err := p.Parsed()
	if err != nil {
		return err
	}
	before := len(t.known)
	for _, s := range parsed.Sample {
		work := -1
		for _, l := range s.Location {
			for _, line := range l.Line {
				if i := slices.IndexFunc(works[:], func(w struct{ load, function string }) bool { return w.function == line.Function.Name }); i >= 0 {
					work = i
				}
			}
		}
		if work < 0 {
			continue
		}
		n := int(s.Value[0])
		switch by := append(s.Label[labelkey.SpanAttribution], "")[0]; {
		case by == labelkey.ByTimeline:
			t.placed.Add(int64(n))
			t.known[work] = true
		case by == labelkey.Ambiguous && before == len(works):
			t.result.Ambiguous += n
		}
		if id := s.Label[labelkey.SpanID]; len(id) > 0 {
			t.samples = append(t.samples, sample{work, n, id[0]})
		}
	}
	return nil
}

func (*taken) ForceFlush(context.Context) error { return nil }
func (*taken) Shutdown(context.Context) error   { return nil }

// judge compares samples and answers with what ran. A thread without its goroutine for a moment
// has no span: that is no wrong answer.
func (t *taken) judge(out *result, targets []target) {
	owners, truth := map[string]int{}, []slice(nil)
	for i, of := range targets {
		for _, s := range of.truth {
			owners[s.Span] = i
		}
		truth = append(truth, of.truth...)
	}
	for _, s := range t.samples {
		if owner, ok := owners[s.span]; !ok || owner != s.work {
			out.Elsewhere += s.n
		}
	}
	for _, a := range t.answers {
		i := slices.IndexFunc(truth, func(s slice) bool { return s.Thread == a.thread && s.Start <= a.at && a.at <= s.End })
		switch {
		case i < 0: // between two slices
		case !a.known:
			out.Unknown++
		case truth[i].Span == a.span:
			out.Right++
		case a.span != "":
			out.Wrong++
		}
	}
}
