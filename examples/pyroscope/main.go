// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Pyroscope is a shop that pushes its profiles to a Pyroscope server.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter/pyroscope"
	"github.com/spanprof/spanprof/profiler"
)

func main() {
	server := flag.String("server", "http://localhost:4040", "`address` of Pyroscope")
	duration := flag.Duration("duration", time.Hour, "how long to run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, stop = context.WithTimeout(ctx, *duration)
	defer stop()

	// The same resource for spans and profiles: Grafana finds a span's profile
	// by its service.name and its id. Add the exporter that sends your spans.
	res := resource.NewSchemaless(semconv.ServiceName("shop"), semconv.ServiceVersion("1.0"))
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithResource(res)), spanprof.WithAddSpanName(true))

	push, err := pyroscope.New(*server)
	check(err)
	prof, err := profiler.New(push, profiler.WithResource(res))
	check(err)

	for ctx.Err() == nil {
		_, span := tp.Tracer("shop").Start(ctx, "GET /checkout")
		checkout(300 * time.Millisecond)
		span.End()
		fmt.Println("span", span.SpanContext().SpanID(), "of trace", span.SpanContext().TraceID())
		time.Sleep(700 * time.Millisecond)
	}

	ctx, stop = context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	err = errors.Join(tp.Shutdown(ctx), prof.Shutdown(ctx)) // which sends the last profiles
	fmt.Println("profiles:", push.Status())
	check(err)
}

func checkout(d time.Duration) {
	data := make([]byte, 64<<10)
	for end := time.Now().Add(d); time.Now().Before(end); {
		data[0] = sha256.Sum256(data)[0]
	}
}

func check(err error) {
	if err != nil {
		log.Fatal("pyroscope: ", err)
	}
}
