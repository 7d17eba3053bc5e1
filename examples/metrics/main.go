// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Metrics serves a histogram of request times. Its exemplars lead to flame graphs: the page's
// ?trace= takes an exemplar's trace_id.
//
//	go run ./examples/metrics
//	curl -s -H 'Accept: application/openmetrics-text' http://127.0.0.1:4040/metrics | grep trace_id
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/inprocess"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4040", "`address` of the page and of /metrics")
	duration := flag.Duration("duration", 0, "how long to serve; 0 means until Ctrl-C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	res := resource.NewSchemaless(attribute.String("service.name", "metrics"))
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithResource(res)))
	p := must(inprocess.Start(tp))

	registry := prometheus.NewRegistry()
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(must(otelprometheus.New(otelprometheus.WithRegisterer(registry))))).Meter("metrics")
	took := must(meter.Float64Histogram("request.duration", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(.1, .2, .5, 1, 2, 5)))

	listener := must(net.Listen("tcp", *listen))
	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	http.Handle("/debug/spanprof/", p.Handler())
	go func() { log.Fatal(http.Serve(listener, nil)) }()

	tracer := tp.Tracer("github.com/spanprof/spanprof/examples/metrics")
	for request := range 3 {
		start := time.Now()
		ctx, root := tracer.Start(ctx, "checkout")
		ctx, child := tracer.Start(ctx, "pay")
		work(200 * (request + 1))
		took.Record(ctx, time.Since(start).Seconds()) // the exemplar has the child's ids
		child.End()
		root.End()
	}
	_ = must(0, p.Flush(ctx)) // or wait up to 10 s for the window to end
	fmt.Printf("Open http://%s/debug/spanprof/\n", listener.Addr())
	time.AfterFunc(cmp.Or(*duration, math.MaxInt64), stop)
	<-ctx.Done()
	_ = must(0, p.Shutdown(context.Background()))
}

func work(megabytes int) {
	for data := make([]byte, 1<<20); megabytes > 0; megabytes-- {
		data[0] = sha256.Sum256(data)[0]
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal("metrics: ", err)
	}
	return value
}
