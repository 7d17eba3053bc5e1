// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
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

// truthClasses are the ways of a span's work. Each takes CPU time by burn for the span
// that it starts. All have ended when it returns.
var truthClasses = map[string]func(w *truth, burn func()){
	"same goroutine": func(w *truth, burn func()) {
		_, span := w.start("same goroutine")
		burn()
		span.End()
	},
	"worker": func(w *truth, burn func()) {
		ctx, span := w.start("worker")
		<-w.submit(func() { spanprof.Do(ctx, func(context.Context) { burn() }) })
		span.End()
	},
	"child elsewhere": func(w *truth, burn func()) {
		ctx, span := w.start("child elsewhere")
		<-w.submit(func() {
			_, child := w.tracer.Start(ctx, "child")
			burn()
			child.End()
		})
		span.End()
	},
	"outliving child": func(w *truth, burn func()) {
		ctx, span := w.start("outliving child")
		started, ended := make(chan struct{}), make(chan struct{})
		done := w.submit(func() {
			_, child := w.tracer.Start(ctx, "child")
			close(started)
			<-ended
			burn()
			child.End()
		})
		<-started
		span.End()
		close(ended)
		<-done
	},
	"Do after End": func(w *truth, burn func()) {
		ctx, span := w.start("Do after End")
		span.End()
		done := make(chan struct{})
		spanprof.Go(ctx, func(context.Context) {
			burn()
			close(done)
		})
		<-done
	},
	"pprof.Do": func(w *truth, burn func()) {
		pprof.Do(w.ctx, pprof.Labels("tenant", "around"), func(ctx context.Context) {
			ctx, span := w.startIn(ctx, "pprof.Do")
			burn()
			pprof.Do(ctx, pprof.Labels("step", "inside"), func(context.Context) { burn() })
			span.End()
		})
	},
	inherited: func(w *truth, burn func()) {
		_, span := w.start(inherited)
		begun, ended, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
		go func() {
			burn()
			close(begun)
			<-ended
			w.burn(afterEnd)
			close(done)
		}()
		<-begun
		span.End()
		close(ended)
		<-done
	},
}

// A goroutine that inherits its starter's labels works for the span until the span's
// end, and for none after that.
const (
	inherited = "inherited"
	afterEnd  = "inherited, after End"
)

// truth is a workload and the CPU time that its threads took, by class.
type truth struct {
	ctx    context.Context
	tracer trace.Tracer
	jobs   chan func()
	took   map[string]*atomic.Int64 // ns
	ids    sync.Map                 // classes by span id
}

func (w *truth) start(class string) (context.Context, trace.Span) { return w.startIn(w.ctx, class) }

func (w *truth) startIn(ctx context.Context, class string) (context.Context, trace.Span) {
	ctx, span := w.tracer.Start(ctx, class)
	w.ids.Store(idOf(span), class)
	return ctx, span
}

// submit runs f on a worker. The channel is closed when f has returned.
func (w *truth) submit(f func()) <-chan struct{} {
	done := make(chan struct{})
	w.jobs <- func() {
		defer close(done)
		f()
	}
	return done
}

// burn takes 3 to 33 ms of CPU time and counts it. Samples are 10 ms apart.
func (w *truth) burn(class string) {
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
	w.took[class].Add(clock() - begin)
}

// least returns the CPU time of the class that has taken least.
func (w *truth) least() time.Duration {
	least := int64(math.MaxInt64)
	for _, took := range w.took {
		least = min(least, took.Load())
	}
	return time.Duration(least)
}

// loop works until each class has taken d of CPU time. It changes the number of
// processors meanwhile.
func (w *truth) loop(d time.Duration) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var workers, submitters sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for job := range w.jobs {
				job()
			}
		})
	}
	for range 2 {
		submitters.Go(func() {
			for n := 0; w.least() < d; n++ {
				for name, run := range truthClasses {
					run(w, func() { w.burn(name) })
				}
				runtime.GOMAXPROCS(1 + n%4)
			}
		})
	}
	submitters.Wait()
	close(w.jobs)
	workers.Wait()
}

// Spans of each class have their share of all samples, as the clocks of threads have
// it. The number of samples that the machine takes of a second is not tested here.
//
// The test fails for a correct profiler at most once in a million times. Its log has
// the deviations in standard deviations. SPANPROF_TRUTH is the number of runs, 1 by
// default. In a run each class takes a second of CPU time, 100 samples.
//
//	SPANPROF_TRUTH=20 go test -tags live -timeout 30m -v -run TestCPUOfSpansIsTrue ./profiler
//	SPANPROF_TRUTH=20 go test -tags live,spanprof_public -timeout 30m -v -run TestCPUOfSpansIsTrue ./profiler
func TestCPUOfSpansIsTrue(t *testing.T) {
	runs := make([]map[string]class, 1)
	if text := os.Getenv("SPANPROF_TRUTH"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		runs = make([]map[string]class, n)
	}
	t.Run("log", func(t *testing.T) {
		knownRuntime(t)
		for i := range runs {
			runs[i] = measureTruth(t)
		}
		judge(t, runs)
	})
	t.Run("runtime/pprof", func(t *testing.T) {
		for i := range runs {
			runs[i] = measureTruth(t, profiler.WithPublicAPI())
			// Samples have no time there: all with a span's labels count for it.
			of, after := runs[i][inherited], runs[i][afterEnd]
			if after.samples > 0 {
				t.Errorf("%d samples are marked as after the end", after.samples)
			}
			runs[i][inherited] = class{of.cpu + after.cpu, of.samples}
			delete(runs[i], afterEnd)
		}
		judge(t, runs)
	})
}

// class is the CPU time of threads and the samples of one class.
type class struct {
	cpu     time.Duration
	samples int64
}

// judge finds classes with more or fewer samples than their share of all n. The share
// is p by CPU time and q by samples. Independent samples are binomially distributed:
// q or farther has at most the probability exp(-n KL(q, p)), by Chernoff. Timers are
// more regular.
func judge(t *testing.T, runs []map[string]class) {
	t.Helper()
	sum, off := map[string]class{}, map[string][]float64{}
	for _, run := range runs {
		all := total(run)
		if all.samples == 0 {
			t.Fatalf("no sample of %v", all.cpu)
		}
		for name, c := range run {
			want, sigma := c.share(all)
			off[name] = append(off[name], (float64(c.samples)-want)/sigma)
			sum[name] = class{sum[name].cpu + c.cpu, sum[name].samples + c.samples}
		}
	}
	const falseAlarms = 1e-6 // of all classes and both sides
	limit, all := math.Log(2*float64(len(sum))/falseAlarms), total(sum)
	for _, name := range slices.Sorted(maps.Keys(sum)) {
		c, within, mean := sum[name], 0, 0.0
		for _, sigmas := range off[name] {
			if mean += sigmas / float64(len(runs)); math.Abs(sigmas) <= 2 {
				within++
			}
		}
		want, sigma := c.share(all)
		t.Logf("%-20s %v: %d samples, want %.1f ± %.1f; %d of %d runs within 2 sigma, mean %+.2f",
			name, c.cpu, c.samples, want, 2*sigma, within, len(runs), mean)
		if n := float64(all.samples); n*divergence(float64(c.samples)/n, want/n) > limit {
			t.Errorf("%s: %d samples, want %.1f ± %.1f", name, c.samples, want, 2*sigma)
		}
	}
	t.Logf("%d samples of %v", all.samples, all.cpu)
}

func total(run map[string]class) (all class) {
	for _, c := range run {
		all.cpu, all.samples = all.cpu+c.cpu, all.samples+c.samples
	}
	return all
}

// share returns the samples that c should have, and their standard deviation.
func (c class) share(all class) (want, sigma float64) {
	n, p := float64(all.samples), c.cpu.Seconds()/all.cpu.Seconds()
	return n * p, math.Sqrt(n * p * (1 - p))
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

// measureTruth profiles the workload. Samples after the end of spans without work
// after it are errors.
func measureTruth(t *testing.T, opts ...profiler.Option) map[string]class {
	t.Helper()
	w := &truth{
		ctx:    t.Context(),
		tracer: spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer(""),
		jobs:   make(chan func()),
		took:   map[string]*atomic.Int64{afterEnd: {}},
	}
	for name := range truthClasses {
		w.took[name] = new(atomic.Int64)
	}
	p, rec := start(t, append([]profiler.Option{profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(500 * time.Millisecond)}, opts...)...)
	w.loop(time.Second)
	shutdown(t, p)

	classes := map[string]class{}
	for name, took := range w.took {
		classes[name] = class{cpu: time.Duration(took.Load())}
	}
	for _, window := range rec.Profiles() {
		for key, after := range map[string]bool{labelkey.SpanID: false, labelkey.EndedSpanID: true} {
			for id, n := range spanSamples(parsed(t, window), key) {
				of, ok := w.ids.Load(id)
				switch {
				case !ok:
					t.Errorf("no span has the id %s", id)
					continue
				case after && of != inherited:
					t.Errorf("%d samples after the end of a span with the work %s", n, of)
					continue
				case after:
					of = afterEnd
				}
				c := classes[of.(string)]
				c.samples += n
				classes[of.(string)] = c
			}
		}
	}
	return classes
}
