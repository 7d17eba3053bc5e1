// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

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
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/google/pprof/profile"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
)

// threadCPU returns the CPU time of the calling thread.
func threadCPU() time.Duration {
	const clockThreadCPUTimeID = 3
	var ts syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPUTimeID, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		panic(errno)
	}
	return time.Duration(ts.Nano())
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

// The functions below say by their name in the stack whose work is done.

//go:noinline
func workHeavy(d time.Duration) time.Duration { return burn(d) + 0 }

//go:noinline
func workLight(d time.Duration) time.Duration { return burn(d) + 0 }

//go:noinline
func workUnlabelled(d time.Duration) time.Duration { return burn(d) + 0 }

// truthful is a workload that knows what CPU time it used under which name.
type truthful struct {
	tracer                trace.Tracer
	heavy, light, neither atomic.Int64 // ns
	heavyIDs, lightIDs    sync.Map     // ids of the spans under which it was done
}

// job is 7 ms of work: no multiple of the 10 ms between samples, which would
// hit or miss a job always at the same place. The work is done on the calling
// goroutine, under ctx's local root or under a root of its own.
const job = 7 * time.Millisecond

func (w *truthful) work(name string) {
	if name == "heavy" {
		w.heavy.Add(int64(workHeavy(job)))
		return
	}
	w.light.Add(int64(workLight(job * 3 / 7)))
}

// start starts a span for work of the given name.
func (w *truthful) start(ctx context.Context, work, name string) (context.Context, trace.Span) {
	ctx, span := w.tracer.Start(ctx, name)
	w.ids(work).Store(span.SpanContext().SpanID().String(), nil)
	return ctx, span
}

func (w *truthful) ids(work string) *sync.Map {
	if work == "light" {
		return &w.lightIDs
	}
	return &w.heavyIDs
}

// run does the n-th job, each in another way.
func (w *truthful) run(n int, pool chan<- func()) {
	name := "heavy"
	if n%2 == 1 {
		name = "light"
	}
	ctx := context.Background()
	switch n / 2 % 5 {
	case 0: // a root and a child
		ctx, root := w.start(ctx, name, name)
		_, child := w.start(ctx, name, "child")
		w.work(name)
		child.End()
		root.End()
	case 1: // a hand-off to a pool, by a child span there
		ctx, root := w.start(ctx, name, name)
		done := make(chan struct{})
		pool <- func() {
			defer close(done)
			_, child := w.start(ctx, name, "child")
			w.work(name)
			child.End()
		}
		<-done
		root.End()
	case 2: // a hand-off by Do, that outlives its span
		ctx, root := w.start(ctx, name, name)
		done := make(chan struct{})
		pool <- func() {
			defer close(done)
			spanprof.Do(ctx, func(context.Context) { w.work(name) })
		}
		root.End()
		<-done
	case 3: // a panic
		func() {
			defer func() { _ = recover() }()
			_, root := w.start(ctx, name, name)
			defer root.End()
			w.work(name)
			panic("oops")
		}()
	case 4: // ends out of order
		_, other := w.start(ctx, "light", "light")
		_, root := w.start(ctx, name, name)
		other.End()
		w.work(name)
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

// TestTruth holds the labelled CPU time against the time that the threads took,
// and every label against the stack it is on.
func TestTruth(t *testing.T) {
	if !spanprof.ReadsGoroutineLabels() {
		t.Skip("by the public API alone a worker keeps the labels of its last job, as documented")
	}
	for _, all := range []bool{false, true} {
		t.Run(fmt.Sprintf("all spans %t", all), func(t *testing.T) {
			for d := time.Second; ; d *= 2 {
				err := measureTruth(t, all, d)
				if err == nil {
					return
				}
				if d >= 16*time.Second {
					t.Fatal(err)
				}
				t.Logf("%v: %v", d, err)
			}
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
	samples := map[string]int64{}
	for _, s := range p.Sample {
		truth := workOf(s)
		if truth == "" {
			continue
		}
		samples[truth] += s.Value[0]
		w.checkLabels(t, all, truth, s)
	}
	for truth, cpu := range map[string]int64{"heavy": w.heavy.Load(), "light": w.light.Load(), "unlabelled": w.neither.Load()} {
		want := float64(cpu) / 1e7
		if off := math.Abs(float64(samples[truth]) - want); off > 4*math.Sqrt(want) {
			return fmt.Errorf("%s work: %d samples, want %.0f ± %.0f", truth, samples[truth], want, 4*math.Sqrt(want))
		}
	}
	t.Logf("%v: samples %v; thread CPU: heavy %v, light %v, unlabelled %v", d, samples,
		time.Duration(w.heavy.Load()), time.Duration(w.light.Load()), time.Duration(w.neither.Load()))
	return nil
}

// workOf returns whose work a sample's stack shows, "" for other code.
func workOf(s *profile.Sample) string {
	for _, location := range s.Location {
		for _, line := range location.Line {
			_, function, _ := strings.Cut(line.Function.Name, "_test.work")
			switch function {
			case "Heavy", "Light", "Unlabelled":
				return strings.ToLower(function)
			}
		}
	}
	return ""
}

func (w *truthful) checkLabels(t *testing.T, all bool, truth string, s *profile.Sample) {
	id, name := strings.Join(s.Label["span_id"], ","), strings.Join(s.Label["span_name"], ",")
	if truth == "unlabelled" {
		if len(s.Label) != 0 {
			t.Errorf("work of no span has the labels %v", s.Label)
		}
		return
	}
	_, known := w.ids(truth).Load(id)
	if !known || name != truth && (name != "child" || !all) {
		t.Errorf("%s work has span_name %q and span_id %q, one of its spans: %t", truth, name, id, known)
	}
}
