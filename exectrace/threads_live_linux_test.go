// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace_test

import (
	"context"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/store"
)

// observed is the label span_id that a goroutine had on a thread at a time.
type observed struct {
	thread int64
	at     time.Time
	span   string
}

// observer keeps what goroutines observe of themselves.
type observer struct {
	mu   sync.Mutex
	list []observed
}

// look works for a moment, so that it is not at an edge, and observes.
func (o *observer) look() {
	work(20 * time.Microsecond)
	before := syscall.Gettid()
	at := time.Now()
	if syscall.Gettid() == before {
		span := ""
		if l := goruntime.GoroutineLabels().Find(spanprof.LabelSpanID); l != nil {
			span = l.Value
		}
		o.mu.Lock()
		o.list = append(o.list, observed{int64(before), at, span})
		o.mu.Unlock()
	}
	work(20 * time.Microsecond)
}

func work(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

// spansOfAllKinds starts and ends spans in the ways that change labels.
func (o *observer) spansOfAllKinds(tracer trace.Tracer) {
	ctx, root := tracer.Start(context.Background(), "root")
	o.look()
	childCtx, child := tracer.Start(ctx, "child")
	o.look()
	var others sync.WaitGroup
	others.Go(func() { // has the labels from the start
		o.look()
		_, other := tracer.Start(context.Background(), "another root")
		o.look()
		other.End()
		o.look()
	})
	begun := make(chan struct{})
	others.Go(func() {
		spanprof.Do(childCtx, func(context.Context) { o.look() })
		o.look()
		close(begun)
	})
	<-begun
	o.look()
	child.SetName("child, renamed")
	child.End()
	o.look()
	_, elsewhere := tracer.Start(ctx, "ends on another goroutine")
	others.Go(func() {
		elsewhere.End()
		o.look()
	})
	o.look()
	root.End()
	o.look()
	others.Wait()
	o.look()
}

// work runs spans on goroutines. Some have a thread of their own.
func (o *observer) work(tracer trace.Tracer, rounds int) {
	jobs := make(chan context.Context)
	var all sync.WaitGroup
	all.Go(func() { // was there before the spans
		for ctx := range jobs {
			_, span := tracer.Start(ctx, "job")
			o.look()
			span.End()
			o.look()
		}
	})
	var spans sync.WaitGroup
	for n := range 4 {
		spans.Go(func() {
			if n%2 == 0 {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			for range rounds {
				o.spansOfAllKinds(tracer)
				ctx, span := tracer.Start(context.Background(), "with a job")
				jobs <- ctx
				o.look()
				span.End()
			}
		})
	}
	spans.Wait()
	close(jobs)
	all.Wait()
}

// tooMany reports whether more than 3 in 100 are unknown. That may be if the machine takes
// threads away while they write events: then a test looks again, until its deadline.
func tooMany(unknown, right int) bool { return unknown*100 > (right+unknown)*3 }

// TestThreads compares the spans of threads in recordings with the spans of the goroutines.
func TestThreads(t *testing.T) {
	for name, options := range map[string][]spanprof.Option{
		"local roots": nil,
		"all spans":   {spanprof.WithSpanIDLabelScope(spanprof.ScopeAllSpans)},
	} {
		t.Run(name, func(t *testing.T) { testThreads(t, options) })
	}
}

// testThreads reads threads before Look, after it, and after the end.
func testThreads(t *testing.T, options []spanprof.Option) {
	t.Helper()
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(), options...)
	r, o := recordOf(t, tp, s, exectrace.WithThreshold(time.Hour), exectrace.WithWindow(20*time.Second), exectrace.WithBudget(1)), new(observer)
	tracer, threads := tp.Tracer("test"), r.Threads()
	ask := func() (right, wrong, unknown int) {
		since := time.Now()
		o.list = nil
		o.work(tracer, 30)
		for _, x := range o.list {
			if x.at.Before(since) {
				continue
			}
			span, known := threads.SpanAt(x.thread, x.at)
			switch {
			case !known:
				unknown++
			case span != x.span:
				wrong++
			default:
				right++
			}
		}
		t.Logf("%d right, %d wrong, %d unknown", right, wrong, unknown)
		return right, wrong, unknown
	}
	if right, wrong, _ := ask(); right+wrong > 0 {
		t.Errorf("%d are known while nobody looks", right+wrong)
	}
	for started, again := time.Now(), true; again; {
		threads.Look()
		right, wrong, unknown := ask()
		again = tooMany(unknown, right)
		// A part that the runtime writes badly stays in the recording for its window. Until then
		// nothing is known.
		if wrong > 0 || right+unknown == 0 || again && time.Since(started) > deadline {
			t.Fatalf("%d right, %d wrong, %d unknown, want 0 wrong, and at most 3 in 100 unknown", right, wrong, unknown)
		}
	}
	if err := r.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if right, wrong, _ := ask(); right+wrong > 0 {
		t.Errorf("%d are known of a time after the recording", right+wrong)
	}
}
