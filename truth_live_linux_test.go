// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package spanprof_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sys/unix"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/livetest"
)

// threadCPU returns the CPU time of the calling thread.
func threadCPU() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		panic(err)
	}
	return time.Duration(now.Nano())
}

// burn uses d of the thread's CPU time and returns what it really used.
func burn(d time.Duration) time.Duration {
	start := threadCPU()
	data := make([]byte, 4096)
	for threadCPU()-start < d {
		data[0] = sha256.Sum256(data)[0]
	}
	return threadCPU() - start
}

// The names of these functions in the stack identify the work.
//
//go:noinline
func workHeavy(d time.Duration) time.Duration { return burn(d) + 0 }

//go:noinline
func workLight(d time.Duration) time.Duration { return burn(d) + 0 }

//go:noinline
func workUnlabelled(d time.Duration) time.Duration { return burn(d) + 0 }

// truthful is a workload that measures its CPU time by name.
type truthful struct {
	tracer                trace.Tracer
	heavy, light, neither atomic.Int64 // ns
	spans                 sync.Map     // names of jobs by span id
}

// job is how much work a job is: no divisor of the 10 ms between samples, which
// would hit or miss a job always at the same place.
const job = 7 * time.Millisecond

func (w *truthful) do(j string) {
	if j == "heavy" {
		w.heavy.Add(int64(workHeavy(job)))
	} else {
		w.light.Add(int64(workLight(job)))
	}
}

// start starts a span for a job.
func (w *truthful) start(ctx context.Context, j, name string) (context.Context, trace.Span) {
	ctx, span := w.tracer.Start(ctx, name)
	w.spans.Store(span.SpanContext().SpanID().String(), j)
	return ctx, span
}

// run does the n-th job of a submitter, each in another way. Of ten jobs seven are
// heavy.
func (w *truthful) run(n int, pool chan<- func()) {
	j := "heavy"
	if n%10 >= 7 {
		j = "light"
	}
	ctx := context.Background()
	switch n % 7 {
	case 0: // a root and a child
		ctx, root := w.start(ctx, j, j)
		_, child := w.start(ctx, j, "child")
		w.do(j)
		child.End()
		root.End()
	case 1: // a hand-off to a pool, by a child span there
		ctx, root := w.start(ctx, j, j)
		done := make(chan struct{})
		pool <- func() {
			defer close(done)
			_, child := w.start(ctx, j, "child")
			w.do(j)
			child.End()
		}
		<-done
		root.End()
	case 2: // a hand-off by Do, that outlives its span
		ctx, root := w.start(ctx, j, j)
		done := make(chan struct{})
		pool <- func() {
			defer close(done)
			spanprof.Do(ctx, func(context.Context) { w.do(j) })
		}
		root.End()
		<-done
	case 3: // a panic
		func() {
			defer func() { _ = recover() }()
			_, root := w.start(ctx, j, j)
			defer root.End()
			w.do(j)
			panic("oops")
		}()
	case 4: // ends out of order
		_, other := w.start(ctx, "none", "other")
		_, root := w.start(ctx, j, j)
		other.End()
		w.do(j)
		root.End()
	case 5: // ends on a goroutine of the pool, which has labels of no span
		ended := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			_, root := w.start(ctx, j, j)
			w.do(j)
			pool <- func() {
				defer close(ended)
				root.End()
			}
		}()
		<-ended
	case 6: // a child that is never ended
		ctx, root := w.start(ctx, j, j)
		w.start(ctx, j, "child")
		w.do(j)
		root.End()
	}
	w.neither.Add(int64(workUnlabelled(time.Millisecond)))
}

// loop runs jobs on two threads, with a pool of two, for d.
func (w *truthful) loop(d time.Duration) {
	pool := make(chan func())
	var workers, submitters sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for run := range pool {
				run()
				w.neither.Add(int64(workUnlabelled(time.Millisecond)))
			}
		})
	}
	deadline := time.Now().Add(d)
	for i := range 2 {
		submitters.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for n := i; time.Now().Before(deadline); n++ {
				w.run(n, pool)
			}
		})
	}
	submitters.Wait()
	close(pool)
	workers.Wait()
}

// TestTruth compares the labelled CPU time with the time that the threads took, and
// every label with its stack.
func TestTruth(t *testing.T) {
	if !spanprof.ReadsGoroutineLabels() {
		t.Skip("by the public API alone a worker keeps the labels of its last job, as documented")
	}
	for _, all := range []bool{false, true} {
		t.Run(fmt.Sprintf("all spans %t", all), func(t *testing.T) {
			livetest.Doubling(t, time.Second, func(d time.Duration) string {
				if err := measureTruth(t, all, d); err != nil {
					t.Logf("%v: %v", d, err)
					return err.Error()
				}
				return ""
			})
		})
	}
}

// measureTruth runs the workload for d. Wrong labels are errors of the test; an
// amount that is off may be chance, and is returned.
func measureTruth(t *testing.T, all bool, d time.Duration) error {
	w := &truthful{tracer: spanprof.NewTracerProvider(sdktrace.NewTracerProvider(), spanprof.WithRootSpanOnly(!all)).Tracer("test")}
	var b bytes.Buffer
	if err := pprof.StartCPUProfile(&b); err != nil {
		t.Fatal(err)
	}
	w.loop(d)
	pprof.StopCPUProfile()
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]int64{} // by the labels
	for _, s := range p.Sample {
		if truth, ok := workOf(s); ok {
			samples[w.labelled(t, all, truth, s)] += s.Value[0]
		}
	}
	used := map[string]int64{"heavy": w.heavy.Load(), "light": w.light.Load(), "unlabelled": w.neither.Load()}
	var taken, due float64
	for truth, cpu := range used {
		taken, due = taken+float64(samples[truth]), due+float64(cpu)/1e7
	}
	// A busy machine takes none where a tick comes while another process runs.
	share := taken / due
	if share < 0.6 || share > 1.4 {
		return fmt.Errorf("%.0f samples of %.2f s of CPU time", taken, due/100)
	}
	for truth, cpu := range used {
		want := float64(cpu) / 1e7 * share
		if off := math.Abs(float64(samples[truth]) - want); off > 4*math.Sqrt(want) {
			return fmt.Errorf("%s work: %d samples, want %.0f ± %.0f", truth, samples[truth], want, 4*math.Sqrt(want))
		}
	}
	t.Logf("%v: samples %v; thread CPU: heavy %v, light %v, unlabelled %v", d, samples,
		time.Duration(w.heavy.Load()), time.Duration(w.light.Load()), time.Duration(w.neither.Load()))
	return nil
}

// workOf returns the work in a sample's stack, false for other code.
func workOf(s *profile.Sample) (name string, ok bool) {
	for _, location := range s.Location {
		for _, line := range location.Line {
			_, function, _ := strings.Cut(line.Function.Name, "spanprof_test.")
			switch function {
			case "workHeavy", "workLight", "workUnlabelled":
				return strings.ToLower(strings.TrimPrefix(function, "work")), true
			}
		}
	}
	return "", false
}

// labelled returns the name of a sample's work by its labels, and compares the
// stack with it.
func (w *truthful) labelled(t *testing.T, all bool, truth string, s *profile.Sample) string {
	if len(s.Label) == 0 {
		if truth != "unlabelled" {
			t.Errorf("%s work has no labels", truth)
		}
		return "unlabelled"
	}
	id, name := strings.Join(s.Label["span_id"], ","), strings.Join(s.Label["span_name"], ",")
	is, ok := w.spans.Load(id)
	if !ok {
		t.Errorf("%s work has labels of no span: %v", truth, s.Label)
		return ""
	}
	if is != truth || name != truth && (name != "child" || !all) {
		t.Errorf("%s work has the labels of %v, by the name %q", truth, is, name)
	}
	return truth
}
