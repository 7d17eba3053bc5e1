// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Metrics serves the CPU seconds of each endpoint and tenant to Prometheus, out of the
// profiles. Package meter has the queries.
//
//	go run ./examples/metrics
//	curl -s http://127.0.0.1:4040/metrics | grep ^spanprof_cpu
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
	"runtime/pprof"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter/meter"
	"github.com/spanprof/spanprof/inprocess"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4040", "`address` of the page and of /metrics")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(must(otelprometheus.New()))))
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
	p := must(inprocess.Start(tp, inprocess.WithExporter(must(meter.New("tenant")))))

	listener := must(net.Listen("tcp", *listen))
	http.Handle("/metrics", promhttp.Handler())
	http.Handle("/debug/spanprof/", p.Handler())
	go func() { log.Fatal(http.Serve(listener, nil)) }()

	tracer := tp.Tracer("github.com/spanprof/spanprof/examples/metrics")
	for i, tenant := range []string{"small", "large"} {
		pprof.Do(ctx, pprof.Labels("tenant", tenant), func(ctx context.Context) {
			_, span := tracer.Start(ctx, "GET /report")
			defer span.End()
			work(200 + 600*i)
		})
	}
	_ = must(0, p.Flush(ctx)) // or wait up to 10 s for the window to end
	fmt.Printf("Open http://%[1]s/debug/spanprof/\nScrape http://%[1]s/metrics\n", listener.Addr())
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
