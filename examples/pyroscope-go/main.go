// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Pyroscope-go is a shop that already pushes with pyroscope-go, and gets profiles of its
// spans.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/grafana/pyroscope-go"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"

	"github.com/spanprof/spanprof"
)

func main() {
	server := flag.String("server", "http://localhost:4040", "`address` of Pyroscope")
	duration := flag.Duration("duration", time.Hour, "how long to run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, stop = context.WithTimeout(ctx, *duration)
	defer stop()

	// Unchanged. This is the only profiler of the process: start no other beside it.
	// Without a Logger it reports no failed pushes.
	push, err := pyroscope.Start(pyroscope.Config{ApplicationName: "shop", ServerAddress: *server, Logger: pyroscope.StandardLogger})
	check(err)

	// New: the wrapper. ApplicationName and service.name must be the same.
	res := resource.NewSchemaless(semconv.ServiceName("shop"))
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithResource(res)), spanprof.WithAddSpanName(true))

	for ctx.Err() == nil {
		_, span := tp.Tracer("shop").Start(ctx, "GET /checkout")
		checkout(300 * time.Millisecond)
		span.End()
		fmt.Println("span", span.SpanContext().SpanID(), "of trace", span.SpanContext().TraceID())
		time.Sleep(700 * time.Millisecond)
	}

	check(tp.Shutdown(context.Background()))
	push.Flush(true) // Stop alone may lose the last profiles
	check(push.Stop())
}

func checkout(d time.Duration) {
	data := make([]byte, 64<<10)
	for end := time.Now().Add(d); time.Now().Before(end); {
		data[0] = sha256.Sum256(data)[0]
	}
}

func check(err error) {
	if err != nil {
		log.Fatal("pyroscope-go: ", err)
	}
}
