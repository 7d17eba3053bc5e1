// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Ebpf joins what the host's eBPF agent samples with the spans of this program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/ebpfbridge/receiver"
	"github.com/spanprof/spanprof/inprocess"
	"github.com/spanprof/spanprof/profiler"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4040", "`address` of the page")
	socket := flag.String("socket", "", "absolute `path` of the socket that the agent sends to; empty for one in a new directory")
	patience := flag.Duration("patience", 20*time.Second, "the time without an agent until a message")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *socket == "" { // only this user can write to the new directory
		dir := must(os.MkdirTemp("", "ebpf"))
		defer func() { _ = os.RemoveAll(dir) }()
		*socket = filepath.Join(dir, "otlp.sock")
	}
	page, agents := must(net.Listen("tcp", *listen)), must(receiver.Listen(*socket))
	res := resource.NewSchemaless(semconv.ServiceName("shop"))
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithResource(res)))
	p := must(inprocess.Start(tp, inprocess.WithProfilerOptions(profiler.WithResource(res), profiler.WithWindow(2*time.Second))))
	// The agent's samples of this program go to the store too.
	host := must(receiver.New(p.Store(), p.Store().Lookup, receiver.WithResource(res)))
	p.AddCounters(host.Counters)
	go func() { _ = must(0, host.ServeGRPC(ctx, agents)) }()
	go func() { log.Fatal(http.Serve(page, p.Handler())) }()
	fmt.Printf("Waiting for an agent: ebpf-profiler -collection-agent unix://%s -disable-tls -t go,labels -reporter-interval 1s\nOpen http://%s/\n", agents.Addr(), page.Addr())
	absent := time.AfterFunc(*patience, func() {
		fmt.Printf("No agent has connected to %s: spans have no tab Host. An agent needs root, Linux 5.10 and tracefs on /sys/kernel/tracing. This builds one: GOWORK=off go build -C internal/integration/ebpfagent -o \"$PWD/agent/\" tool\n", agents.Addr())
	})
	for i := 0; ctx.Err() == nil; i++ {
		_, span := tp.Tracer("shop").Start(ctx, jobs[i%len(jobs)].name)
		jobs[i%len(jobs)].run()
		span.End()
		<-time.After(20 * time.Millisecond)
		if s := host.Status(); s.First+s.Witnessed > 0 && absent != nil {
			absent.Stop()
			absent = nil
			fmt.Println("The agent's first samples of this program have come: its spans have the tab Host.")
		}
	}
	_ = must(0, errors.Join(tp.Shutdown(context.Background()), p.Shutdown(context.Background())))
	s := host.Status()
	fmt.Printf("%d messages of agents; samples of this program: %d certain, %d ambiguous\n", s.Messages, s.First+s.Witnessed+s.Placed, s.Ambiguous)
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal("ebpf: ", err)
	}
	return value
}
