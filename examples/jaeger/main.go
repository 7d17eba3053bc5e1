// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Jaeger sends spans to Jaeger. Its UI then links each of them to its flame graph on
// this program's page. README.md has the commands.
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

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/inprocess"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4040", "`address` of the page, which ui.json names")
	jaeger := flag.String("jaeger", "http://127.0.0.1:4318", "base `URL` of Jaeger's OTLP/HTTP receiver")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	listener := must(net.Listen("tcp", *listen))

	res := resource.NewSchemaless(attribute.String("service.name", "jaeger-example"))
	exporter := must(otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(*jaeger+"/v1/traces")))
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(res)),
		spanprof.WithPyroscopeURL("http://"+listener.Addr().String()), spanprof.WithProfileURL(true), spanprof.WithProfileBaselineURL(true))
	p := must(inprocess.Start(tp))
	go func() { log.Fatal(http.Serve(listener, p.Handler())) }()

	tracer := tp.Tracer("github.com/spanprof/spanprof/examples/jaeger")
	for range 3 {
		ctx, root := tracer.Start(ctx, "GET /checkout")
		_, child := tracer.Start(ctx, "charge card")
		work(200)
		child.End()
		root.End()
	}
	if err := tp.ForceFlush(ctx); err != nil {
		log.Println("jaeger: no Jaeger takes the spans; set its address by -jaeger: ", err)
	}
	_ = must(0, p.Flush(ctx))
	fmt.Println("Open http://" + listener.Addr().String())
	<-ctx.Done()
	_ = must(0, errors.Join(tp.Shutdown(context.Background()), p.Shutdown(context.Background())))
}

func work(megabytes int) {
	for data := make([]byte, 1<<20); megabytes > 0; megabytes-- {
		data[0] = sha256.Sum256(data)[0]
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal("jaeger: ", err)
	}
	return value
}
