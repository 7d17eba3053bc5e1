// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Ebpfthreads runs spans for an eBPF agent to sample. It reads its samples from the
// socket of a hostview and places them with its own execution trace. It prints how many
// samples were placed, and how many of them wrongly.
//
//	ebpfthreads -socket /run/spanprof/host.sock <<<2000
//
// It reads from its input how many samples to place before it ends. An interrupt ends it
// earlier.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/ebpfbridge/receiver"
	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/store"
)

// result is what the program prints.
type result struct {
	PID int // in the program's own namespace
	samples
	judged
	Known     int // workers with samples that the trace placed
	Status    receiver.Status
	Recording exectrace.Status
}

func main() {
	socket := flag.String("socket", "/run/spanprof/host.sock", "the socket of a hostview")
	flag.Parse()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { fmt.Fprintln(os.Stderr, "ebpfthreads:", err) }))
	if err := run(*socket); err != nil {
		fmt.Fprintln(os.Stderr, "ebpfthreads:", err)
		os.Exit(1)
	}
}

func run(socket string) (err error) {
	s, err := store.New()
	if err != nil {
		return err
	}
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor())))
	recorder, err := exectrace.Start(tp, s, exectrace.WithThreshold(time.Hour), exectrace.WithBudget(1), exectrace.WithWindow(10*time.Second))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	w := &workers{tracer: tp.Tracer("ebpfthreads"), owners: map[string]int{}}
	asked := &checked{threads: recorder.Threads()}
	taken := &taken{workers: w, known: map[int]bool{}}
	r, err := receiver.New(taken, s.Lookup, receiver.WithTimelines(asked))
	if err != nil {
		return err
	}
	subscribed := make(chan error, 1)
	go func() { subscribed <- r.Subscribe(ctx, socket) }()
	wanted := make(chan int, 1)
	go func() {
		n := 0 // where the input ends
		_, _ = fmt.Fscan(bufio.NewReader(os.Stdin), &n)
		wanted <- n
	}()

	ends := make(chan struct{})
	var all sync.WaitGroup
	for i := range works {
		all.Go(func() { w.work(i, ends) })
	}
	n := -1
	for ctx.Err() == nil && (n < 0 || taken.placed() < n) {
		asked.threads.Look()
		select {
		case n = <-wanted:
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	close(ends)
	all.Wait()
	stop()
	if err := <-subscribed; err != nil {
		return err
	}
	status := recorder.Status()
	if err := recorder.Shutdown(context.Background()); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result{os.Getpid(), taken.samples, asked.judge(w.truth), len(taken.known), r.Status(), status})
}
