// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Pull is a service with profiles of spans for Alloy, or any scraper of /debug/pprof. It keeps
// the same samples for a page of its own.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/inprocess"
	"github.com/spanprof/spanprof/profhttp"
	"github.com/spanprof/spanprof/profiler"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:6060", "`address` of the page and of the profiles")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	listener := must(net.Listen("tcp", *listen))
	// service.name is what config.alloy calls service_name.
	res := resource.NewSchemaless(semconv.ServiceName("shop"))
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithResource(res)))
	runtime.SetMutexProfileFraction(10)
	runtime.SetBlockProfileRate(10_000)
	p := must(inprocess.Start(tp, inprocess.WithProfilerOptions(profiler.WithResource(res),
		profiler.WithKinds(exporter.KindCPU, exporter.KindWall, exporter.KindMutex, exporter.KindBlock))))
	mux := http.NewServeMux()
	mux.Handle("/debug/pprof/", profhttp.Handler(p.Profiler()))
	mux.Handle("/debug/spanprof/", p.Handler())
	go func() { log.Fatal(http.Serve(listener, mux)) }()
	fmt.Printf("Profiles for scrapers: http://%s/debug/pprof/\nOpen http://%s/debug/spanprof/\n", listener.Addr(), listener.Addr())

	for ctx.Err() == nil {
		orderCtx, order := tp.Tracer("shop").Start(ctx, "order")
		hash(40)
		_, payment := tp.Tracer("shop").Start(orderCtx, "payment")
		<-time.After(50 * time.Millisecond) // the bank takes its time
		payment.End()
		order.End()
	}
	_ = must(0, errors.Join(tp.Shutdown(context.Background()), p.Shutdown(context.Background())))
}

func hash(megabytes int) {
	for data := make([]byte, 1<<20); megabytes > 0; megabytes-- {
		data[0] = sha256.Sum256(data)[0]
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal("pull: ", err)
	}
	return value
}
