// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Http is the smallest HTTP service with a page: one provider, one handler for each route.
//
//	go run ./examples/http
//	curl http://127.0.0.1:4040/hash
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
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
	otel.SetTracerProvider(tp)
	p := must(inprocess.Start(tp))

	mux := http.NewServeMux()
	mux.Handle("/debug/spanprof/", p.Handler())
	mux.Handle("GET /hash", traced("GET /hash", hash))
	listener := must(net.Listen("tcp", *listen))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }()
	fmt.Printf("Open http://%s/debug/spanprof/\n", listener.Addr())
	<-ctx.Done()
	_ = must(0, p.Shutdown(context.Background()))
	_ = must(0, server.Shutdown(context.Background()))
}

// traced starts a span with the route's name. Inside it, spanprof.Handler gives the name to the
// allocations too.
func traced(name string, h http.HandlerFunc) http.Handler {
	return otelhttp.NewHandler(spanprof.Handler(h), name)
}

func hash(w http.ResponseWriter, _ *http.Request) {
	sum := sha256.Sum256(make([]byte, 64<<20))
	fmt.Fprintf(w, "%x\n", sum)
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal("http: ", err)
	}
	return value
}
