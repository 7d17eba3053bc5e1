// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Workers labels the goroutines of a pool by spanprof.Do. They inherit nothing from a job's span.
//
//	go run ./examples/workers
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/inprocess"
)

type job struct {
	ctx   context.Context // of the span
	bytes int
	parts *sync.WaitGroup
}

func (j job) run(context.Context) {
	defer j.parts.Done()
	for data := make([]byte, 1<<20); j.bytes > 0; j.bytes -= len(data) {
		data[0] = sha256.Sum256(data)[0]
	}
}

func main() {
	listen := flag.String("listen", "127.0.0.1:4040", "`address` of the page")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
	p := must(inprocess.Start(tp))
	listener := must(net.Listen("tcp", *listen))
	go func() { log.Fatal(http.Serve(listener, p.Handler())) }()

	jobs := make(chan job)
	for range 2 {
		go func() {
			for j := range jobs {
				spanprof.Do(j.ctx, j.run)
			}
		}()
	}
	tracer := tp.Tracer("github.com/spanprof/spanprof/examples/workers")
	for i, name := range []string{"small report", "large report"} {
		ctx, span := tracer.Start(ctx, name)
		var parts sync.WaitGroup
		for range 4 {
			parts.Add(1)
			jobs <- job{ctx, (100 + 300*i) << 20, &parts}
		}
		parts.Wait()
		span.End()
	}
	_ = must(0, p.Flush(ctx))
	fmt.Printf("Open http://%s/\n", listener.Addr())
	<-ctx.Done()
	_ = must(0, p.Shutdown(context.Background()))
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal("workers: ", err)
	}
	return value
}
