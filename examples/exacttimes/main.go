// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Exacttimes is a shop in which some checkouts wait for a lock while a cache is refreshed. The
// page shows exactly how long, and which span held the lock: open a slow GET /checkout, and
// its tab Time.
//
//	go run ./examples/exacttimes
//	curl -sG http://127.0.0.1:4040/debug/spanprof/ -d format=text --data-urlencode 'query=.cpu{span_name="GET /checkout"}'
//	go tool pprof -top -tagroot=ended_by_span_name 'http://127.0.0.1:4040/debug/spanprof/waits?query=.cpu{span_name="GET%20/checkout"}'
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"log"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/inprocess"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4040", "`address` of the page")
	duration := flag.Duration("duration", 0, "how long to run; 0 means until Ctrl-C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	time.AfterFunc(cmp.Or(*duration, math.MaxInt64), stop)
	res := resource.NewSchemaless(attribute.String("service.name", "shop"))
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithResource(res)))
	p := must(inprocess.Start(tp))
	// Without the option, spans are slow that take longer than 99 in 100 of their name.
	exact := must(exectrace.Start(tp, p.Store(), exectrace.WithThreshold(30*time.Millisecond)))
	p.AddCounters(exact.Counters())

	http.Handle("/debug/spanprof/", p.Handler())
	listener := must(net.Listen("tcp", *listen))
	go func() { log.Fatal(http.Serve(listener, nil)) }()
	fmt.Printf("Open http://%s/debug/spanprof/\n", listener.Addr())

	shop := &shop{tracer: tp.Tracer("github.com/spanprof/spanprof/examples/exacttimes")}
	// Each second a checkout comes while the cache is loaded.
	var requests sync.WaitGroup
	for n, tick := 0, time.NewTicker(100*time.Millisecond); ctx.Err() == nil; n++ {
		if n%10 == 0 {
			requests.Go(shop.refresh)
		}
		requests.Go(shop.checkout)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	requests.Wait()
	_ = must(0, errors.Join(exact.Shutdown(context.Background()), p.Shutdown(context.Background())))
}

type shop struct {
	tracer trace.Tracer
	prices sync.Mutex // of the cache
}

func (s *shop) refresh() {
	ctx, span := s.tracer.Start(context.Background(), "refresh cache")
	defer span.End()
	s.prices.Lock()
	defer s.prices.Unlock()
	s.step(ctx, "load from disk", func() { time.Sleep(45 * time.Millisecond) })
	s.step(ctx, "decode", func() { hash(16) })
}

func (s *shop) checkout() {
	ctx, span := s.tracer.Start(context.Background(), "GET /checkout")
	defer span.End()
	var loading sync.WaitGroup
	for _, name := range []string{"load cart", "load customer"} {
		loading.Go(func() { s.step(ctx, name, func() { time.Sleep(10 * time.Millisecond) }) })
	}
	loading.Wait()
	s.prices.Lock()
	defer s.prices.Unlock()
	s.step(ctx, "render", func() { hash(4) })
}

func (s *shop) step(ctx context.Context, name string, work func()) {
	_, span := s.tracer.Start(ctx, name)
	defer span.End()
	work()
}

// hash burns about half a millisecond of CPU for each megabyte.
func hash(megabytes int) {
	data := make([]byte, 1<<20)
	for range megabytes {
		data[0] = sha256.Sum256(data)[0]
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal("exacttimes: ", err)
	}
	return value
}
