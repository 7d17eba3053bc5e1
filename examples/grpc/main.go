// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Grpc is a gRPC server with a page. otelgrpc starts the spans; the interceptor gives their
// names to allocations and waits for locks too.
//
//	go run ./examples/grpc
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/inprocess"
)

// marked runs a call under the name of its span.
func marked(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (response any, err error) {
	spanprof.Do(ctx, func(ctx context.Context) { response, err = handler(ctx, request) })
	return response, err
}

func main() {
	listen := flag.String("listen", "127.0.0.1:4040", "`address` of the page")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
	p := must(inprocess.Start(tp))
	page := must(net.Listen("tcp", *listen))
	go func() { log.Fatal(http.Serve(page, p.Handler())) }()

	server := grpc.NewServer(
		grpc.StatsHandler(otelgrpc.NewServerHandler(otelgrpc.WithTracerProvider(tp))),
		grpc.UnaryInterceptor(marked))
	healthpb.RegisterHealthServer(server, health.NewServer())
	calls := must(net.Listen("tcp", "127.0.0.1:0"))
	go func() { _ = server.Serve(calls) }()

	conn := must(grpc.NewClient(calls.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials())))
	for range 20_000 {
		_ = must(healthpb.NewHealthClient(conn).Check(ctx, new(healthpb.HealthCheckRequest)))
	}
	_ = must(0, p.Flush(ctx))
	fmt.Printf("Open http://%s/\n", page.Addr())
	<-ctx.Done()
	server.Stop()
	_ = must(0, p.Shutdown(context.Background()))
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal("grpc: ", err)
	}
	return value
}
