// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Profbench prints what the profiler, with a store behind it, adds to the CPU time of
// labelled spans: by samples, and by the end of each window, which is parsed and stored. With
// -loss it prints which share of the CPU time is in samples.
//
//	go run ./internal/integration/profbench
//	go run ./internal/integration/profbench -loss 6
//
// By default it takes about ten minutes. The figures of docs/costs.md come from a
// longer run on a machine that does nothing else:
//
//	go run ./internal/integration/profbench -quads 700 -ends 10
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"log"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"text/tabwriter"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/store"
)

const (
	// slice is how long the same work takes with and without the profiler:
	// the machine's speed drifts by more than what is measured, the less the
	// shorter that is.
	slice = 50 * time.Millisecond
	// window is the profiler's default.
	window = 10 * time.Second
)

func main() {
	log.SetFlags(0)
	quads := flag.Int("quads", 300, "how often the same work is done four times, with and without the profiler, and without it")
	ends := flag.Int("ends", 6, "how many windows are ended")
	loss := flag.Int("loss", 0, "instead, how often each way to cut CPU profiles is measured for 30 s, to find lost samples")
	flag.Parse()
	fmt.Printf("%s %s/%s, GOMAXPROCS %d\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	var err error
	if *loss > 0 {
		err = printLoss(newTracer(), *loss)
	} else {
		err = run(*quads, *ends)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(quads, ends int) error {
	ballast := make([]byte, 128<<20) // a service's heap
	defer runtime.KeepAlive(ballast)
	tracer := newTracer()
	atEnds, spans, busy, err := measureEnds(tracer, ends)
	if err != nil {
		return err
	}
	inSlice := int(float64(spans) * slice.Seconds() / (float64(ends) * window.Seconds()))
	q := &profiled{work: func() {
		for range inSlice {
			span(tracer)
		}
	}}
	var sampling, nothing []float64
	for range quads {
		for _, on := range []bool{true, false} {
			ratio, err := q.measure(context.Background(), on)
			if err != nil {
				return err
			}
			if on {
				sampling = append(sampling, ratio)
			} else {
				nothing = append(nothing, ratio)
			}
		}
	}
	// To what there would be at 100 Hz.
	rate := float64(q.samples) / q.busy.Seconds()
	scale := 100 * 100 / rate

	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "added to the process CPU of labelled spans\t\t95 %% interval\t\t\n")
	fmt.Fprintf(w, "nothing: what the method does not see\t%s\t%d times 4 x %d spans\t\n", estimateOf(nothing).scale(scale), quads, inSlice)
	bySampling := estimateOf(sampling).scale(scale)
	fmt.Fprintf(w, "100 samples a second\t%s\tmeasured at %.0f a second\t\n", bySampling, rate)
	atEnd := estimateOf(atEnds)
	byEnds := atEnd.scale(100 / busy)
	fmt.Fprintf(w, "ends of the CPU and heap windows, parsed and stored\t%s\t%.1f ms in %v\t\n", byEnds, 1000*atEnd.value, window)
	fmt.Fprintf(w, "together (goal: at most 1 %%)\t%s\t\t\n", bySampling.add(byEnds))
	return w.Flush()
}

func newTracer() trace.Tracer {
	return spanprof.NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("profbench")
}

// measureEnds returns the CPU seconds of each end of a window. It also returns the number of
// spans in all windows, and the CPU seconds of one window.
func measureEnds(tracer trace.Tracer, ends int) (atEnds []float64, spans int, busy float64, err error) {
	ctx := context.Background()
	kept, err := store.New()
	if err != nil {
		return nil, 0, 0, err
	}
	p, err := profiler.New(kept, profiler.WithWindow(time.Hour))
	if err != nil {
		return nil, 0, 0, err
	}
	begun := cpuTime()
	for range ends {
		for begin := time.Now(); time.Since(begin) < window; spans++ {
			span(tracer)
		}
		end := cpuTime()
		if err := p.Flush(ctx); err != nil {
			return nil, 0, 0, err
		}
		time.Sleep(settle)
		atEnds = append(atEnds, (cpuTime() - end).Seconds())
	}
	return atEnds, spans, (cpuTime() - begun).Seconds() / float64(ends), p.Shutdown(ctx)
}

// span is a tenth of a millisecond or so of work in a span, with allocations as in a service.
func span(tracer trace.Tracer) {
	_, s := tracer.Start(context.Background(), "operation")
	defer s.End()
	for i := range 50 {
		order := map[string]any{"id": i, "name": "order " + strconv.Itoa(i), "lines": []int{i, i + 1, i + 2}}
		b, err := json.Marshal(order)
		if err != nil {
			panic(err) // nothing in it can fail
		}
		var back map[string]any
		if err := json.Unmarshal(b, &back); err != nil {
			panic(err)
		}
		h := fnv.New64a()
		_, _ = h.Write(b)
		_ = h.Sum64()
	}
}

// cpuTime returns the user and system time of the process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // only a wrong argument can fail
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
