// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
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

// burn takes some CPU time, less or more than the 10 ms between samples, and counts it.
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
	for d := int64(3*time.Millisecond) + rand.N(int64(30*time.Millisecond)); clock()-begin < d; {
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

// truthClasses are the kinds of work.
var truthClasses = []string{"direct", "heir", "go", "pool", "panic", "timer"}

// afterEnd is the class of what an heir does after its span's end.
const afterEnd = "heir, after its end"

// The CPU time of spans is what the clocks of threads say, whatever its goroutines are
// and while the number of cores changes, whether we read the samples or runtime/pprof does:
// of all samples each class has its share of the CPU time. How many samples the machine
// takes of the CPU time is not asked here.
//
// The test is wrong about a true profiler once in a million times at most. What samples
// say within two standard deviations is in its log: SPANPROF_TRUTH sets how much CPU time
// each class takes for that.
//
//	SPANPROF_TRUTH=30s go test -tags live -count=1 -v -run TestCPUOfSpansIsTrue ./profiler
//	SPANPROF_TRUTH=30s go test -tags live,spanprof_public -count=1 -v -run TestCPUOfSpansIsTrue ./profiler
func TestCPUOfSpansIsTrue(t *testing.T) {
	each := time.Second // 100 samples
	if text := os.Getenv("SPANPROF_TRUTH"); text != "" {
		var err error
		if each, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("log", func(t *testing.T) {
		knownRuntime(t)
		classes, ended := measureTruth(t, each)
		if n := len(ended); n > 0 {
			t.Errorf("samples after the end of spans whose work had ended: %v", ended)
		}
		judge(t, classes)
	})
	t.Run("runtime/pprof", func(t *testing.T) {
		// Samples have no time there, and all those with a span's labels count for it.
		classes, ended := measureTruth(t, each, profiler.WithUnknownRuntime(errors.New("unknown")))
		if n := classes[afterEnd].samples; n > 0 || len(ended) > 0 {
			t.Errorf("%d samples of an heir and %v are known to be after the end", n, ended)
		}
		heir, after := classes["heir"], classes[afterEnd]
		classes["heir"] = class{heir.cpu + after.cpu, heir.samples}
		delete(classes, afterEnd)
		judge(t, classes)
	})
}

// class is what threads and samples say of one.
type class struct {
	cpu     time.Duration
	samples int64
}

// judge finds the classes whose samples are not their share of all. With independent
// samples, n of a class that has the share p would be binomially distributed, and by
// Chernoff's bound a share of q or farther off, to its side, has at most the probability
// exp(-n KL(q, p)). Timers are more regular, which makes that less.
func judge(t *testing.T, classes map[string]class) {
	t.Helper()
	const falseAlarms = 1e-6 // of all classes and both sides
	limit := math.Log(2 * float64(len(classes)) / falseAlarms)
	var all class
	for _, c := range classes {
		all.cpu, all.samples = all.cpu+c.cpu, all.samples+c.samples
	}
	if all.samples == 0 {
		t.Fatalf("no sample of %v", all.cpu)
	}
	within := 0
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		c, n := classes[name], float64(all.samples)
		p, q := c.cpu.Seconds()/all.cpu.Seconds(), float64(c.samples)/n
		sigma := math.Sqrt(n * p * (1 - p))
		off := (float64(c.samples) - n*p) / sigma
		t.Logf("%-20s %v: %d samples, want %.1f ± %.1f: %+.2f sigma", name, c.cpu, c.samples, n*p, 2*sigma, off)
		if math.Abs(off) <= 2 {
			within++
		}
		if n*divergence(q, p) > limit {
			t.Errorf("%s: %d samples, want %.1f ± %.1f", name, c.samples, n*p, 2*sigma)
		}
	}
	t.Logf("%d of %d within 2 sigma; %d samples of %v", within, len(classes), all.samples, all.cpu)
}

// divergence is Kullback and Leibler's of two shares, q from p.
func divergence(q, p float64) float64 {
	term := func(q, p float64) float64 {
		if q == 0 {
			return 0
		}
		return q * math.Log(q/p)
	}
	return term(q, p) + term(1-q, 1-p)
}

// measureTruth works until each class has taken some CPU time. It returns, too, the
// samples after the end of spans that had no work left, by class.
func measureTruth(t *testing.T, each time.Duration, opts ...profiler.Option) (classes map[string]class, ended map[string]int64) {
	t.Helper()
	w := &truth{
		tracer: spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer(""),
		of:     map[string]*atomic.Int64{},
		after:  map[string]*atomic.Int64{"heir": {}},
	}
	for _, name := range truthClasses {
		w.of[name] = new(atomic.Int64)
	}
	p, rec := start(t, append([]profiler.Option{profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(500 * time.Millisecond)}, opts...)...)
	if err := p.Opened(t.Context()); err != nil {
		t.Fatal(err)
	}
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
	for range 2 {
		submitters.Go(func() {
			for n := 0; w.least() < each; n++ {
				w.run(pool)
				runtime.GOMAXPROCS(1 + n%4)
			}
		})
	}
	submitters.Wait()
	close(pool)
	workers.Wait()
	shutdown(t, p)

	classes, ended = map[string]class{}, map[string]int64{}
	for name, took := range w.of {
		classes[name] = class{cpu: time.Duration(took.Load())}
	}
	classes[afterEnd] = class{cpu: time.Duration(w.after["heir"].Load())}
	add := func(name string, n int64) {
		c := classes[name]
		c.samples += n
		classes[name] = c
	}
	for _, window := range rec.Profiles() {
		for id, n := range spanSamples(parsed(t, window), labelkey.SpanID) {
			add(w.name(t, id), n)
		}
		for id, n := range spanSamples(parsed(t, window), labelkey.EndedSpanID) {
			if name := w.name(t, id); name == "heir" {
				add(afterEnd, n)
			} else {
				ended[name] += n
			}
		}
	}
	return classes, ended
}

// least returns the CPU time of the class that has taken least.
func (w *truth) least() time.Duration {
	least := w.after["heir"].Load()
	for _, took := range w.of {
		least = min(least, took.Load())
	}
	return time.Duration(least)
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
