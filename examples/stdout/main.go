// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Stdout prints two spans, a link to their profile on the first of them.
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

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"

	otelpyroscope "github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/inprocess"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4040", "`address` of the page")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	listener, err := net.Listen("tcp", *listen)
	check(err)
	exporter, _ := stdouttrace.New(stdouttrace.WithPrettyPrint())
	res := resource.NewSchemaless(semconv.ServiceName("simple.golang.app"))
	tp := otelpyroscope.NewTracerProvider(
		trace.NewTracerProvider(trace.WithSampler(trace.AlwaysSample()), trace.WithBatcher(exporter), trace.WithResource(res)),
		otelpyroscope.WithAppName("simple.golang.app"),
		otelpyroscope.WithPyroscopeURL("http://"+listener.Addr().String()),
		otelpyroscope.WithRootSpanOnly(true),
		otelpyroscope.WithAddSpanName(true),
		otelpyroscope.WithProfileURL(true), otelpyroscope.WithProfileBaselineURL(true),
	)
	otel.SetTracerProvider(tp)
	profiling, err := inprocess.Start(tp)
	check(err)
	go func() { log.Fatal(http.Serve(listener, profiling.Handler())) }()
	rootCtx, root := otel.Tracer("stdout").Start(ctx, "RootProcess")
	rootWork()
	_, child := otel.Tracer("stdout").Start(rootCtx, "ChildProcess")
	childWork()
	child.End()
	root.End()
	check(errors.Join(tp.Shutdown(context.Background()), profiling.Flush(context.Background())))
	fmt.Printf("Open http://%s/?query=simple.golang.app.cpu%%7Bprofile_id=%%22%s%%22%%7D\n", listener.Addr(), root.SpanContext().SpanID())
	<-ctx.Done()
	check(profiling.Shutdown(context.Background()))
}

func rootWork()  { hash(400) }
func childWork() { hash(400) }

func hash(megabytes int) {
	for data := make([]byte, 1<<20); megabytes > 0; megabytes-- {
		data[0] = sha256.Sum256(data)[0]
	}
}

func check(err error) {
	if err != nil {
		log.Fatal("stdout: ", err)
	}
}
