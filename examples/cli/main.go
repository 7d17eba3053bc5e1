// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Cli is a job of about three seconds. It ends before anybody could open a page, so the page is
// written to a file.
//
//	SPANPROF_REPORT=report.html go run ./examples/cli
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log"
	"os"
	"sort"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/inprocess"
)

func main() {
	ctx := context.Background()
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
	p, err := inprocess.Start(tp)
	check(err)
	tracer := tp.Tracer("github.com/spanprof/spanprof/examples/cli")
	for _, step := range []struct {
		name string
		run  func()
	}{{"hash", hash}, {"sort", order}, {"wait for the server", func() { time.Sleep(time.Second) }}} {
		_, span := tracer.Start(ctx, step.name)
		step.run()
		span.End()
	}
	check(p.Shutdown(ctx)) // writes the report
	fmt.Println("wrote", os.Getenv("SPANPROF_REPORT"))
}

func hash() {
	data := make([]byte, 1<<20)
	for begin := time.Now(); time.Since(begin) < time.Second; {
		data[0] = sha256.Sum256(data)[0]
	}
}

func order() {
	for begin := time.Now(); time.Since(begin) < time.Second; {
		numbers := make([]int, 100_000)
		for i := range numbers {
			numbers[i] = i * 7919 % 100_003
		}
		sort.Ints(numbers)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal("cli: ", err)
	}
}
