// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sys/unix"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/profiler"
)

// truth is the CPU time that threads say they took for spans, by name.
type truth struct {
	tracer trace.Tracer

	of    map[string]*atomic.Int64 // ns, of the span
	after map[string]*atomic.Int64 // ns, after its end
	ids   sync.Map                 // names by span id
}

// burn takes some CPU time, no divisor of the 10 ms between samples, and counts it.
func (w *truth) burn(to *atomic.Int64) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	clock := func() int64 {
		var t unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
			panic(err)
		}
		return t.Nano()
	}
	begin := clock()
	for d := int64(3*time.Millisecond) + rand.N(int64(8*time.Millisecond)); clock()-begin < d; {
		for n := range 20000 {
			_ = n
		}
	}
	to.Add(clock() - begin)
}

func (w *truth) start(name string) (context.Context, trace.Span) {
	ctx, span := w.tracer.Start(context.Background(), name)
	w.ids.Store(idOf(span), name)
	return ctx, span
}

// run works once for a span of each kind.
func (w *truth) run(pool chan<- func()) {
	_, span := w.start("direct")
	w.burn(w.of["direct"])
	span.End()

	// A goroutine that has the labels of its starter, before and after the end.
	_, span = w.start("heir")
	begun, ended, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		w.burn(w.of["heir"])
		close(begun)
		<-ended
		w.burn(w.after["heir"])
		close(done)
	}()
	<-begun
	span.End()
	close(ended)
	<-done

	ctx, span := w.start("go")
	done = make(chan struct{})
	span.End()
	spanprof.Go(ctx, func(context.Context) {
		w.burn(w.of["go"])
		close(done)
	})
	<-done

	ctx, span = w.start("pool")
	done = make(chan struct{})
	pool <- func() {
		spanprof.Do(ctx, func(context.Context) { w.burn(w.of["pool"]) })
		close(done)
	}
	<-done
	span.End()

	func() {
		defer func() { _ = recover() }()
		_, span := w.start("panic")
		defer span.End()
		w.burn(w.of["panic"])
		panic("oops")
	}()

	ctx, span = w.start("timer")
	done = make(chan struct{})
	time.AfterFunc(0, func() {
		spanprof.Do(ctx, func(context.Context) { w.burn(w.of["timer"]) })
		close(done)
	})
	<-done
	span.End()
}

// The CPU time of spans is what the clocks of threads say, within two standard
// deviations of what samples can tell, whatever its goroutines are and while the number
// of cores changes. How many samples the machine takes of the CPU time is not asked here.
func TestCPUOfSpansIsTrue(t *testing.T) {
	knownRuntime(t)
	for d := 2 * time.Second; ; d *= 2 {
		err := measureTruth(t, d)
		if err == nil {
			return
		}
		if d >= 16*time.Second {
			t.Fatal(err)
		}
		t.Logf("%v: %v", d, err)
	}
}

func measureTruth(t *testing.T, d time.Duration) error {
	w := &truth{
		tracer: spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer(""),
		of:     map[string]*atomic.Int64{},
		after:  map[string]*atomic.Int64{"heir": {}},
	}
	for _, name := range []string{"direct", "heir", "go", "pool", "panic", "timer"} {
		w.of[name] = new(atomic.Int64)
	}
	p, rec := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(500*time.Millisecond))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	pool := make(chan func())
	var workers, submitters sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for run := range pool {
				run()
			}
		})
	}
	deadline := time.Now().Add(d)
	for range 2 {
		submitters.Go(func() {
			for n := 0; time.Now().Before(deadline); n++ {
				w.run(pool)
				runtime.GOMAXPROCS(1 + n%4)
			}
		})
	}
	submitters.Wait()
	close(pool)
	workers.Wait()
	shutdown(t, p)

	of, after := map[string]int64{}, map[string]int64{}
	for _, window := range rec.Profiles() {
		for id, n := range spanSamples(parsed(t, window), labelkey.SpanID) {
			of[w.name(t, id)] += n
		}
		for id, n := range spanSamples(parsed(t, window), labelkey.EndedSpanID) {
			after[w.name(t, id)] += n
		}
	}
	var cpu, samples int64
	for name := range w.of {
		cpu, samples = cpu+w.of[name].Load(), samples+of[name]
	}
	cpu, samples = cpu+w.after["heir"].Load(), samples+after["heir"]
	if samples == 0 {
		return fmt.Errorf("no sample of %v", time.Duration(cpu))
	}
	share := float64(samples) / float64(cpu)
	check := func(what string, got int64, took *atomic.Int64) error {
		want := float64(took.Load()) * share
		sigma := math.Sqrt(want)
		t.Logf("%v %s: %d samples, want %.1f ± %.1f", d, what, got, want, 2*sigma)
		if math.Abs(float64(got)-want) > 2*sigma {
			return fmt.Errorf("%s: %d samples, want %.1f ± %.1f", what, got, want, 2*sigma)
		}
		return nil
	}
	for name, took := range w.of {
		if err := check(name, of[name], took); err != nil {
			return err
		}
		if name != "heir" && after[name] > 0 {
			t.Errorf("%d samples after the end of %s", after[name], name)
		}
	}
	return check("heir, after its end", after["heir"], w.after["heir"])
}

func (w *truth) name(t *testing.T, id string) string {
	t.Helper()
	name, ok := w.ids.Load(id)
	if !ok {
		t.Errorf("no span has the id %s", id)
		return ""
	}
	return name.(string)
}
