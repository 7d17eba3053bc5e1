// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package meter_test

import (
	"context"
	"crypto/sha256"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/sys/unix"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler"
)

func threadCPU() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		panic(err)
	}
	return time.Duration(now.Nano())
}

// request is the work of a series.
type request struct {
	series, name, tenant string
	share                float64 // of all requests
	used                 atomic.Int64
}

// serve burns d of CPU time in a span of the request's name and under its tenant.
func (r *request) serve(ctx context.Context, tp *spanprof.TracerProvider, d time.Duration) {
	if r.name == "" {
		r.burn(d)
		return
	}
	pprof.Do(ctx, pprof.Labels("tenant", r.tenant), func(ctx context.Context) {
		_, span := tp.Tracer("").Start(ctx, r.name)
		defer span.End()
		r.burn(d)
	})
}

func (r *request) burn(d time.Duration) {
	data := make([]byte, 4096)
	begin := threadCPU()
	for threadCPU()-begin < d {
		data[0] = sha256.Sum256(data)[0]
	}
	r.used.Add(int64(threadCPU() - begin))
}

// The seconds of each series equal the time by the threads' clocks, within the error of sampling.
// With -v it prints them. A series of 1,600 samples is within 5 %.
func TestThreadClocks(t *testing.T) {
	m, all := newMeter(t, "tenant")
	p, err := profiler.New(m, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(time.Hour), profiler.WithResource(resource.Empty()))
	if err != nil {
		t.Fatal(err)
	}
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
	requests := []*request{
		{series: "span_name=GET /report,tenant=a", name: "GET /report", tenant: "a", share: 0.75},
		{series: "span_name=GET /report,tenant=b", name: "GET /report", tenant: "b", share: 0.15},
		{series: "span_name=GET /,tenant=a", name: "GET /", tenant: "a", share: 0.05},
		{share: 1}, // the rest: the CPU time of no span
	}
	var used atomic.Int64
	var threads sync.WaitGroup
	for range 2 {
		threads.Go(func() {
			runtime.LockOSThread()
			for used.Load() < int64(24*time.Second) {
				draw := rand.Float64()
				i := slices.IndexFunc(requests, func(r *request) bool { draw -= r.share; return draw < 0 })
				d := rand.N(14 * time.Millisecond)
				requests[i].serve(t.Context(), tp, d)
				used.Add(int64(d))
			}
		})
	}
	threads.Wait()
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	sums := all()
	for _, r := range requests {
		got, want := sums[r.series], time.Duration(r.used.Load()).Seconds()
		samples := got * 100
		sigma := (got - want) / (math.Sqrt(samples) / 100)
		t.Logf("%-32s %6.2f s by the meter, %6.2f s by the threads: %+.1f %%, %+.1f sigma of %.0f samples", r.series, got, want, 100*(got/want-1), sigma, samples)
		if !(math.Abs(sigma) < 4) || samples >= 1600 && math.Abs(got/want-1) > 0.05 {
			t.Errorf("%s is off", r.series)
		}
	}
	total := 0.0
	for _, seconds := range sums {
		total += seconds
	}
	t.Logf("all series, with what starts and ends spans: %.2f s", total)
}
