// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command prometheus runs PromQL in a Prometheus database of its own and shows which
// query took the time: all requests have the same name, and the query is an attribute of
// a child span.
//
//	GOWORK=off go run .
//
// It is a module of its own and no part of the workspace, for Prometheus has many
// dependencies: it takes minutes to build.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/inprocess"
	"github.com/spanprof/spanprof/viewer"
)

func main() {
	address := flag.String("listen", "localhost:6060", "the address of the page")
	all := flag.Bool("all-spans", false, "give every span a profile of its own")
	flag.Parse()
	if err := run(*address, *all); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(address string, allSpans bool) error {
	p, err := profile(allSpans)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	defer func() { _ = p.Shutdown(context.WithoutCancel(ctx)) }()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := open(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for range 5 {
		if err := db.serve(ctx); err != nil {
			return err
		}
	}
	if err := p.Flush(ctx); err != nil {
		return err
	}
	fmt.Printf("the page is http://%s/?order=slowest\n", address)
	return viewer.ListenAndServe(ctx, address, p.Handler())
}

// profile starts to profile the spans of the global tracer provider, which is what
// Prometheus uses.
func profile(allSpans bool) (*inprocess.Profiling, error) {
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(), spanprof.WithRootSpanOnly(!allSpans))
	otel.SetTracerProvider(tp)
	return inprocess.Start(tp, inprocess.WithSpanAttributes("query"))
}
