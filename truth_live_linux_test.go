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
	"slices"
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
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/profiler"
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
func burn(d time.Duration) int64 {
	start := threadCPU()
	data := make([]byte, 4096)
	for threadCPU()-start < d {
		data[0] = sha256.Sum256(data)[0]
	}
	return int64(threadCPU() - start)
}

// job is how much work a job is: no divisor of the 10 ms between samples, which
// would hit or miss a job always at the same place.
const job = 7 * time.Millisecond

// The names of these functions in the stack identify the work.
//
//go:noinline
func workHeavy() int64 { return burn(job) + 0 }

//go:noinline
func workLight() int64 { return burn(job) + 0 }

//go:noinline
func workUnlabelled() int64 { return burn(time.Millisecond) + 0 }

// truthful is a workload that measures its CPU time by name.
type truthful struct {
	tracer                   trace.Tracer
	heavy, light, unlabelled atomic.Int64 // ns
	spans                    sync.Map     // names of jobs by span id
}

func (w *truthful) do(name string) {
	if name == "heavy" {
		w.heavy.Add(workHeavy())
	} else {
		w.light.Add(workLight())
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
	handOff := func(f func()) (done chan struct{}) {
		done = make(chan struct{})
		pool <- func() {
			defer close(done)
			f()
		}
		return done
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
		<-handOff(func() {
			_, child := w.start(ctx, j, "child")
			w.do(j)
			child.End()
		})
		root.End()
	case 2: // a hand-off by Do, that outlives its span
		ctx, root := w.start(ctx, j, j)
		done := handOff(func() { spanprof.Do(ctx, func(context.Context) { w.do(j) }) })
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
		var worker sync.WaitGroup
		onThread(&worker, func() {
			_, root := w.start(ctx, j, j)
			w.do(j)
			<-handOff(func() { root.End() })
		})
		worker.Wait()
	case 6: // a child that is never ended
		ctx, root := w.start(ctx, j, j)
		w.start(ctx, j, "child")
		w.do(j)
		root.End()
	}
	w.unlabelled.Add(workUnlabelled())
}

// onThread runs f on a goroutine with a thread of its own.
func onThread(wg *sync.WaitGroup, f func()) {
	wg.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		f()
	})
}

// loop runs jobs on two threads, with a pool of two, for d.
func (w *truthful) loop(d time.Duration) {
	pool := make(chan func())
	var workers, submitters sync.WaitGroup
	deadline := time.Now().Add(d)
	for i := range 2 {
		onThread(&workers, func() {
			for run := range pool {
				run()
				w.unlabelled.Add(workUnlabelled())
			}
		})
		onThread(&submitters, func() {
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
// every label with its stack: by runtime/pprof and by package profiler.
func TestTruth(t *testing.T) {
	if !spanprof.ReadsGoroutineLabels() {
		t.Skip("by the public API alone a worker keeps the labels of its last job, as documented")
	}
	for reader, record := range map[string]func(t *testing.T, run func()) *profile.Profile{"runtime/pprof": byPprof, "profiler": byProfiler} {
		for _, all := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, all spans %t", reader, all), func(t *testing.T) {
				livetest.Doubling(t, time.Second, func(d time.Duration) string {
					w := &truthful{tracer: spanprof.NewTracerProvider(sdktrace.NewTracerProvider(), spanprof.WithRootSpanOnly(!all)).Tracer("test")}
					return w.compare(t, all, record(t, func() { w.loop(d) }))
				})
			})
		}
	}
}

// byPprof records run as programs do by themselves.
func byPprof(t *testing.T, run func()) *profile.Profile {
	t.Helper()
	var b bytes.Buffer
	if err := pprof.StartCPUProfile(&b); err != nil {
		t.Fatal(err)
	}
	run()
	pprof.StopCPUProfile()
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// byProfiler records run as a window of a Profiler.
func byProfiler(t *testing.T, run func()) *profile.Profile {
	t.Helper()
	rec := new(exportertest.Recorder)
	p, err := profiler.New(rec, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	run()
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	parsed, err := rec.Profiles()[0].Parsed()
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// compare returns which amount is off, which may be chance. Wrong labels are errors of the
// test.
func (w *truthful) compare(t *testing.T, all bool, p *profile.Profile) (off string) {
	samples := map[string]float64{}
	for _, s := range p.Sample {
		for _, name := range []string{"Heavy", "Light", "Unlabelled"} {
			if slices.ContainsFunc(s.Location, func(l *profile.Location) bool {
				return slices.ContainsFunc(l.Line, func(line profile.Line) bool { return strings.HasSuffix(line.Function.Name, ".work"+name) })
			}) {
				samples[strings.ToLower(name)] += float64(s.Value[0])
				w.check(t, all, strings.ToLower(name), s)
			}
		}
	}
	used := map[string]int64{"heavy": w.heavy.Load(), "light": w.light.Load(), "unlabelled": w.unlabelled.Load()}
	var taken, due float64
	for name, cpu := range used {
		taken, due = taken+samples[name], due+float64(cpu)/1e7
	}
	// A busy machine takes none where a tick comes while another process runs.
	share := taken / due
	if share < 0.6 || share > 1.4 {
		return fmt.Sprintf("%.0f samples of %.2f s of CPU time", taken, due/100)
	}
	for name, cpu := range used {
		want := float64(cpu) / 1e7 * share
		if most := 4 * math.Sqrt(want); math.Abs(samples[name]-want) > most {
			return fmt.Sprintf("%s work: %.0f samples, want %.0f ± %.0f", name, samples[name], want, most)
		}
	}
	t.Logf("samples %v, thread CPU %v ns", samples, used)
	return ""
}

// check compares the labels of a sample with the work in its stack.
func (w *truthful) check(t *testing.T, all bool, work string, s *profile.Sample) {
	id, name := strings.Join(s.Label["span_id"], ","), strings.Join(s.Label["span_name"], ",")
	if work == "unlabelled" {
		if len(s.Label) > 0 {
			t.Errorf("unlabelled work has %v", s.Label)
		}
		return
	}
	if is, _ := w.spans.Load(id); is != work || name != work && (name != "child" || !all) {
		t.Errorf("%s work has the labels %v, of %v", work, s.Label, is)
	}
}
