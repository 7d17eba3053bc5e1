// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Http is the smallest HTTP service with a page: the quick start of README.md.
//
//	go run ./examples/http
//	curl http://127.0.0.1:4040/report
//	curl -s 'http://127.0.0.1:4040/debug/spanprof/?format=text'
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
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/inprocess"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4040", "`address` of the service and its page")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *listen); err != nil {
		log.Fatal("http: ", err)
	}
}

func run(ctx context.Context, listen string) error {
	mux := http.NewServeMux()
	// A test compares these lines with README.md.
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
	otel.SetTracerProvider(tp)
	p, err := inprocess.Start(tp)
	if err != nil {
		return err
	}
	defer p.Shutdown(context.Background()) //nolint:errcheck // the program ends
	mux.Handle("/debug/spanprof/", p.Handler())
	mux.Handle("GET /report", otelhttp.NewHandler(spanprof.Handler(http.HandlerFunc(report)), "GET /report"))

	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }()
	fmt.Printf("Open http://%s/debug/spanprof/\n", listener.Addr())
	<-ctx.Done()
	return server.Shutdown(context.Background())
}

func report(w http.ResponseWriter, _ *http.Request) {
	sum := sha256.Sum256(make([]byte, 64<<20))
	fmt.Fprintf(w, "%x\n", sum)
}
