// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Stdout prints two spans that link to their profiles, and serves the profiles.
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

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/trace"

	otelpyroscope "github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/inprocess"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4040", "`address` of the page")
	duration := flag.Duration("duration", 0, "how long to serve the page; 0 means until Ctrl-C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	listener, err := net.Listen("tcp", *listen)
	check(err)
	exporter, _ := stdouttrace.New(stdouttrace.WithPrettyPrint())
	tp := otelpyroscope.NewTracerProvider(
		trace.NewTracerProvider(trace.WithSampler(trace.AlwaysSample()), trace.WithBatcher(exporter)),
		otelpyroscope.WithAppName("simple.golang.app"),
		otelpyroscope.WithPyroscopeURL("http://"+listener.Addr().String()),
		otelpyroscope.WithRootSpanOnly(true),
		otelpyroscope.WithAddSpanName(true),
		otelpyroscope.WithProfileURL(true),
		otelpyroscope.WithProfileBaselineURL(true),
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

	check(tp.Shutdown(context.Background()))
	check(profiling.Flush(context.Background()))
	fmt.Printf("Open http://%s/\n", listener.Addr())
	if *duration > 0 {
		ctx, stop = context.WithTimeout(ctx, *duration)
		defer stop()
	}
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
