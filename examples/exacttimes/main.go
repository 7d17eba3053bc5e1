// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Exacttimes has checkouts that wait for a lock while a cache is refreshed. The page shows
// exactly how long, and the span that held the lock: open a slow GET /checkout, and its tab Time.
//
//	go run ./examples/exacttimes
//	curl -sG http://127.0.0.1:4040/ -d format=text --data-urlencode 'query=.cpu{span_name="GET /checkout"}'
//	go tool pprof -top -tagroot=ended_by_span_name 'http://127.0.0.1:4040/waits?query=.cpu{span_name="GET%20/checkout"}'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/inprocess"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4040", "`address` of the page")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
	p := must(inprocess.Start(tp))
	// Without the option, spans are slow that take longer than 99 in 100 of their name.
	exact := must(exectrace.Start(tp, p.Store(), exectrace.WithThreshold(30*time.Millisecond)))
	p.AddCounters(exact.Counters())
	listener := must(net.Listen("tcp", *listen))
	go func() { log.Fatal(http.Serve(listener, p.Handler())) }()
	fmt.Printf("Open http://%s/\n", listener.Addr())

	in := func(ctx context.Context, name string, work func(context.Context)) {
		ctx, span := tp.Tracer("shop").Start(ctx, name)
		defer span.End()
		work(ctx)
	}
	var prices sync.Mutex
	locked := func(name string, d time.Duration) func(context.Context) {
		return func(ctx context.Context) {
			prices.Lock()
			defer prices.Unlock()
			in(ctx, name, func(context.Context) { time.Sleep(d) })
		}
	}
	// Each second a checkout comes while the cache is loaded.
	var requests sync.WaitGroup
	for n, tick := 0, time.Tick(100*time.Millisecond); ctx.Err() == nil; n++ {
		if n%10 == 0 {
			requests.Go(func() { in(context.Background(), "refresh cache", locked("load from disk", 60*time.Millisecond)) })
		}
		requests.Go(func() { in(context.Background(), "GET /checkout", locked("render", time.Millisecond)) })
		select {
		case <-tick:
		case <-ctx.Done():
		}
	}
	requests.Wait()
	_ = must(0, errors.Join(exact.Shutdown(context.Background()), p.Shutdown(context.Background())))
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal("exacttimes: ", err)
	}
	return value
}
