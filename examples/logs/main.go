// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Logs writes log records that lead to the profile of the span they belong to: open the
// profile_url of a line.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/inprocess"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4040", "`address` of the page")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	listener := must(net.Listen("tcp", *listen))

	res := resource.NewSchemaless(attribute.String("service.name", "logs"))
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithResource(res)),
		spanprof.WithPyroscopeURL("http://"+listener.Addr().String()), spanprof.WithProfileURL(true))
	p := must(inprocess.Start(tp))
	go func() { log.Fatal(http.Serve(listener, p.Handler())) }()

	logger := slog.New(spanprof.NewLogHandler(slog.NewJSONHandler(os.Stdout, nil), spanprof.WithLogLinks()))
	tracer := tp.Tracer("github.com/spanprof/spanprof/examples/logs")
	for order := range 3 {
		ctx, span := tracer.Start(ctx, "place order")
		work(100 * (order + 1))
		logger.InfoContext(ctx, "order placed", "order", order) // with the span's context
		span.End()
	}
	_ = must(0, p.Flush(ctx)) // or wait up to 10 s for the window to end
	fmt.Println("Open http://" + listener.Addr().String())
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
		log.Fatal("logs: ", err)
	}
	return value
}
