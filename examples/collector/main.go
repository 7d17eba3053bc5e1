// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Collector sends spans and their profiles to an OpenTelemetry Collector. One
// that writes what comes to collector.json, from the top of the repository:
//
//	GOWORK=off go build -C internal/integration/collector .
//	internal/integration/collector/collector --config examples/collector/collector.yaml --feature-gates=service.profilesSupport
//	go run ./examples/collector
//
// A Collector (0.161 to 0.165) does not forward profiles to Pyroscope or Parca in a form that
// they read (2026-11-26): all services become unknown_service. Send profiles straight to
// them, see exporter/otlp/README.md. The file of this Collector has all.
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

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter/otlp"
	"github.com/spanprof/spanprof/profiler"
)

func main() {
	collector := flag.String("collector", "http://127.0.0.1:4318", "base `URL` of the Collector's OTLP/HTTP receiver")
	duration := flag.Duration("duration", 15*time.Second, "how long to work")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	// Spans and profiles have the same Resource, so that a backend finds both.
	res := must(resource.Merge(resource.Default(), resource.NewSchemaless(attribute.String("service.name", "collector-example"))))
	spans := must(otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(*collector+"/v1/traces")))
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans), sdktrace.WithResource(res)))
	profiles := must(otlp.New(otlp.WithEndpointURL(*collector + "/v1development/profiles")))
	p := must(profiler.New(profiles, profiler.WithResource(res), profiler.WithWindow(5*time.Second)))
	_ = must(0, p.Start())

	tracer := tp.Tracer("github.com/spanprof/spanprof/examples/collector")
	for end := time.Now().Add(*duration); time.Now().Before(end) && ctx.Err() == nil; {
		order(ctx, tracer)
	}

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := errors.Join(tp.Shutdown(ctx), p.Shutdown(ctx)) // sends what waits
	fmt.Println("profiles:", profiles.Status())
	_ = must(0, err)
}

func order(ctx context.Context, tracer trace.Tracer) {
	_, span := tracer.Start(ctx, "order")
	defer span.End()
	sum := []byte("order")
	for start := time.Now(); time.Since(start) < 200*time.Millisecond; {
		next := sha256.Sum256(sum)
		sum = next[:]
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal("collector: ", err)
	}
	return value
}
