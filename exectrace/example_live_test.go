// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace_test

import (
	"context"
	"log"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/inprocess"
)

// The page shows exactly where the time of slow spans went, and which goroutines held their locks.
func ExampleStart() {
	if err := serve(); err != nil {
		log.Fatal(err)
	}
	// Output:
}

func serve() error {
	ctx := context.Background()
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
	p, err := inprocess.Start(tp)
	if err != nil {
		return err
	}
	defer func() { _ = p.Shutdown(ctx) }()
	r, err := exectrace.Start(tp, p.Store())
	if err != nil {
		return err
	}
	defer func() { _ = r.Shutdown(ctx) }()
	p.AddCounters(r.Counters()) // on the page, too
	// ... serve p.Handler() and the requests of others
	return nil
}
