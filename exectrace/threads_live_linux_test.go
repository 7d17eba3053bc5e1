// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	rtrace "runtime/trace"
	"sync"
	"syscall"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/exectrace/internal/timeline"
	"github.com/spanprof/spanprof/internal/goruntime"
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

// compare counts the observations that the recordings confirm.
func (o *observer) compare(t *testing.T, threads *timeline.Threads, since time.Time) (right, wrong, unknown int) {
	t.Helper()
	for _, x := range o.list {
		if x.at.Before(since) || x.at.After(threads.Until()) {
			continue
		}
		switch span, known := threads.SpanAt(x.thread, x.at); {
		case !known:
			unknown++
		case span == x.span:
			right++
		default:
			wrong++
			t.Logf("thread %d at %v: span %q, want %q", x.thread, x.at, span, x.span)
		}
	}
	return right, wrong, unknown
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
		t.Run(name, func(t *testing.T) {
			tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(), options...).Tracer("test")
			for range tries {
				if testThreads(t, tracer) {
					return
				}
			}
			t.Errorf("none of %d recordings can be read", tries)
		})
	}
}

// testThreads returns false where the runtime writes a recording badly, see readable.
func testThreads(t *testing.T, tracer trace.Tracer) bool {
	t.Helper()
	recorder := rtrace.NewFlightRecorder(rtrace.FlightRecorderConfig{MinAge: time.Minute, MaxBytes: 1 << 30})
	if err := recorder.Start(); err != nil {
		t.Fatal(err)
	}
	defer recorder.Stop()
	since, o, threads := time.Now(), new(observer), new(timeline.Threads)
	for left := 3; left > 0; left-- {
		o.work(tracer, 30)
		var recording bytes.Buffer
		if _, err := recorder.WriteTo(&recording); err != nil {
			t.Fatal(err)
		}
		size := recording.Len()
		if err := threads.Read(&recording, 256<<20); errors.Is(err, timeline.ErrGap) || errors.Is(err, timeline.ErrPanic) {
			t.Fatal(err)
		} else if err != nil {
			// That part stays in the recording.
			t.Logf("THE RUNTIME WROTE A RECORDING BADLY, of %d bytes: %v", size, err)
			return false
		}
		right, wrong, unknown := o.compare(t, threads, since)
		t.Logf("%d right, %d wrong, %d unknown", right, wrong, unknown)
		again := tooMany(unknown, right)
		if wrong > 0 || right == 0 || again && time.Since(since) > deadline {
			t.Fatalf("%d right, %d wrong, %d unknown, want 0 wrong, and at most 3 in 100 unknown", right, wrong, unknown)
		}
		if again {
			o.list, left = nil, left+1
		}
	}
	return true
}

// TestRecorderThreads reads threads before Watch, during it, and after the end.
func TestRecorderThreads(t *testing.T) {
	r, o := record(t, exectrace.WithThreshold(time.Hour), exectrace.WithWindow(20*time.Second), exectrace.WithBudget(1)), new(observer)
	threads := r.Threads()
	ask := func() (right, wrong, unknown int) {
		since := time.Now()
		o.list = nil
		o.work(r.tracer, 30)
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
