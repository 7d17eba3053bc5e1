// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess_test

import (
	"context"
	"log"
	"net/http"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/inprocess"
)

func ExampleStart() {
	ctx := context.Background()
	res := resource.Default()
	mux := http.NewServeMux()

	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithResource(res)))
	otel.SetTracerProvider(tp)
	p, err := inprocess.Start(tp) // CPU, heap and wall, kept in memory
	if err != nil {
		log.Print(err)
		return
	}
	defer func() { _ = p.Shutdown(ctx) }()
	mux.Handle("/debug/spanprof/", p.Handler())
	// Output:
}
