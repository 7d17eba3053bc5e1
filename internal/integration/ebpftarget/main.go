// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

// Ebpftarget is a program with spans for an eBPF agent to sample. It records the truth
// that a receiver of the agent's profiles has to find: which span ran when on which
// thread. It warms up until its input ends and then runs one load. It prints the truth as
// JSON, one slice of a span a line.
//
//	ebpftarget -load tight -cpu 10s </dev/null
//	ebpftarget -socket /run/spanprof/host.sock -place 2000
//
// With -socket it places samples from a hostview by its own execution trace. It prints how many
// of them are wrong. An interrupt ends it earlier.
//
// An agent samples a process only after it has read the process's files, which takes a busy
// machine seconds. So close the target's input when the agent has sent samples of spans
// named "warm-up".
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sys/unix"

	"github.com/spanprof/spanprof"
)

// slice is a time in which one thread ran one span, or no span.
type slice struct {
	Thread int    `json:"thread"`
	Span   string `json:"span,omitempty"` // its id; "" for work of no span
	Name   string `json:"name,omitempty"`
	// The span's labels were set at least from Start to End, in nanoseconds since 1970.
	Start int64 `json:"start"`
	End   int64 `json:"end"`
	// CPU is the CPU time of the thread from Start to End by the kernel, in nanoseconds.
	CPU int64 `json:"cpu"`
}

// target makes spans of 100 ms and remembers them.
type target struct {
	tracer trace.Tracer
	work   func()
	cpu    time.Duration // of the process, when to end
	truth  []slice
}

func main() {
	load := flag.String("load", "tight", "tight, json, cgo, kernel or shared")
	cpu := flag.Duration("cpu", 10*time.Second, "how much CPU time to take after the warm-up: how long that is depends on what else runs")
	socket := flag.String("socket", "", "the socket of a hostview, to place samples from there")
	place := flag.Int64("place", 2000, "how many samples the execution trace must place")
	flag.Parse()
	var err error
	if *socket != "" {
		err = runThreads(*socket, *place)
	} else {
		err = run(*load, *cpu)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ebpftarget:", err)
		os.Exit(1)
	}
}

func run(load string, cpu time.Duration) error {
	provider := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
	t := &target{tracer: provider.Tracer("ebpftarget"), work: loads[load]}
	runLoad := t.alternate
	if load == "shared" {
		t.work, runLoad = calculate, t.share
	}
	if t.work == nil {
		return fmt.Errorf("no load %q", load)
	}
	t.warmUp()
	t.cpu = cpuTime(unix.RUSAGE_SELF) + cpu
	runLoad()
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	for _, s := range t.truth {
		if err := encoder.Encode(s); err != nil {
			return err
		}
	}
	return out.Flush()
}

// cpuTime returns the CPU time of the process or of the thread so far.
func cpuTime(of int) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(of, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// warmUp works in spans until the input ends.
func (t *target) warmUp() {
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for {
		t.span("warm-up", t.work)
		select {
		case <-ended:
			return
		default:
		}
	}
}

// alternate runs spans of two names on one thread, one after the other.
func (t *target) alternate() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for i := 0; cpuTime(unix.RUSAGE_SELF) < t.cpu; i++ {
		t.span(names[i%2], t.work)
	}
}

// names are the names of spans. An agent cuts the first one.
var names = [...]string{"GET /products/{id} for the first of two shops that alternate", "checkout"}

// span runs 100 ms of work as a span.
func (t *target) span(name string, work func()) {
	s := slice{Thread: unix.Gettid(), Name: name}
	_, span := t.tracer.Start(context.Background(), s.Name)
	s.Span = span.SpanContext().SpanID().String()
	s.Start = time.Now().UnixNano()
	before := cpuTime(unix.RUSAGE_THREAD)
	for time.Now().UnixNano() < s.Start+int64(100*time.Millisecond) {
		work()
	}
	s.CPU = int64(cpuTime(unix.RUSAGE_THREAD) - before)
	s.End = time.Now().UnixNano()
	span.End()
	if unix.Gettid() == s.Thread {
		t.truth = append(t.truth, s)
	}
}

// share runs spans, and the same work without a span, by turns of two goroutines. They
// share all threads.
func (t *target) share() {
	runtime.GOMAXPROCS(1)
	spans, others := make(chan int), make(chan int)
	go func() {
		for range others {
			t.without()
			spans <- 0
		}
		close(spans)
	}()
	for i := 0; cpuTime(unix.RUSAGE_SELF) < t.cpu; i++ {
		t.span(names[i%2], t.work)
		others <- 0
		<-spans
	}
	close(others)
	<-spans
}

// without runs 50 ms of work without a span.
func (t *target) without() {
	s := slice{Thread: unix.Gettid(), Start: time.Now().UnixNano()}
	for time.Now().UnixNano() < s.Start+int64(50*time.Millisecond) {
		t.work()
	}
	s.End = time.Now().UnixNano()
	if unix.Gettid() == s.Thread {
		t.truth = append(t.truth, s)
	}
}

// repeat runs spans, and the same work without one, on a thread of its own until ctx ends.
func (t *target) repeat(ctx context.Context) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for ctx.Err() == nil {
		t.span(names[1], t.work)
		t.without()
	}
}
