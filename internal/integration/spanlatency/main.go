// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Spanlatency prints how long the store's OnStart and OnEnd take in a program whose
// processors are busy: with readers that load pages of single spans again and again, and
// with as many goroutines that only burn CPU, which is the control. Both times the spans
// start and end on two goroutines, a hundred thousand of them in turn.
//
//	go run ./internal/integration/spanlatency
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// timed is a span processor that measures another one.
type timed struct {
	sdktrace.SpanProcessor
	mu           sync.Mutex
	starts, ends []time.Duration
}

func (t *timed) OnStart(ctx context.Context, s sdktrace.ReadWriteSpan) {
	from := time.Now()
	t.SpanProcessor.OnStart(ctx, s)
	took := time.Since(from)
	t.mu.Lock()
	t.starts = append(t.starts, took)
	t.mu.Unlock()
}

func (t *timed) OnEnd(s sdktrace.ReadOnlySpan) {
	from := time.Now()
	t.SpanProcessor.OnEnd(s)
	took := time.Since(from)
	t.mu.Lock()
	t.ends = append(t.ends, took)
	t.mu.Unlock()
}

// quantile returns a quantile of durations, which it sorts.
func quantile(all []time.Duration, q float64) time.Duration {
	slices.Sort(all)
	return all[int(q*float64(len(all)-1))]
}

func main() {
	readers := flag.Int("readers", 50, "goroutines that read or burn CPU")
	spans := flag.Int("spans", 100_000, "spans that are measured, in all")
	held := flag.Int("held", 60_000, "spans that the store has before")
	flag.Parse()
	if err := run(*readers, *spans, *held); err != nil {
		fmt.Fprintln(os.Stderr, "spanlatency:", err)
		os.Exit(1)
	}
}

func run(readers, spans, held int) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "beside\tOnStart p50\tp90\tp99\tmax\tOnEnd p50\tp90\tp99\tmax\tpages/s\t")
	for _, beside := range []string{"nothing", "burners", "readers"} {
		if err := measure(w, beside, readers, spans, held); err != nil {
			return err
		}
	}
	return w.Flush()
}

// measure prints a row: what starts and ends take beside something.
func measure(w *tabwriter.Writer, beside string, readers, spans, held int) error {
	s, err := store.New()
	if err != nil {
		return err
	}
	t := &timed{SpanProcessor: s.SpanProcessor()}
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(t)).Tracer("spanlatency")
	pages := fill(tracer, held)
	t.starts, t.ends = nil, nil

	var (
		others, work sync.WaitGroup
		stop         atomic.Bool
		served, bad  atomic.Int64
	)
	handler := viewer.Handler(s)
	for i := range readers {
		switch beside {
		case "burners":
			others.Go(func() { burn(&stop) })
		case "readers":
			others.Go(func() {
				for n := i; !stop.Load(); n++ {
					answer := httptest.NewRecorder()
					handler.ServeHTTP(answer, httptest.NewRequest("GET", pages[n%len(pages)], nil))
					if answer.Code != 200 {
						bad.Add(1)
					}
					served.Add(1)
				}
			})
		}
	}
	from := time.Now()
	for range 2 {
		work.Go(func() {
			for i := range spans / 2 {
				_, span := tracer.Start(context.Background(), fmt.Sprint("GET /", i%20), trace.WithAttributes(attribute.String("http.route", "/")))
				span.End()
				if i%10 == 0 {
					// A request waits for something.
					time.Sleep(10 * time.Microsecond)
				}
			}
		})
	}
	work.Wait()
	took := time.Since(from)
	stop.Store(true)
	others.Wait()
	if bad.Load() > 0 {
		return fmt.Errorf("%d of %d pages are errors", bad.Load(), served.Load())
	}
	_, _ = fmt.Fprintf(w, "%s\t", beside)
	for _, all := range [][]time.Duration{t.starts, t.ends} {
		for _, q := range []float64{0.5, 0.9, 0.99, 1} {
			_, _ = fmt.Fprintf(w, "%v\t", quantile(all, q))
		}
	}
	_, _ = fmt.Fprintf(w, "%.0f\t\n", float64(served.Load())/took.Seconds())
	return nil
}

// fill records spans, and returns the addresses of the pages of some.
func fill(tracer trace.Tracer, held int) (pages []string) {
	for i := range held {
		_, span := tracer.Start(context.Background(), fmt.Sprint("GET /", i%20), trace.WithAttributes(attribute.Int("http.response.status_code", 200)))
		if i%(held/200+1) == 0 {
			ctx := span.SpanContext()
			pages = append(pages, "http://localhost/?format=json&filter="+ctx.SpanID().String(), "http://localhost/?format=json&trace="+ctx.TraceID().String())
		}
		span.End()
	}
	return pages
}

// burn takes CPU time until it is stopped.
func burn(stop *atomic.Bool) {
	x := uint64(1)
	for !stop.Load() {
		for range 10_000 {
			x = x*6364136223846793005 + 1442695040888963407
		}
	}
	_ = x
}
