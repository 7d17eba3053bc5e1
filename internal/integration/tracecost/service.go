// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"syscall"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/store"
)

// perRequest is the CPU time of a request.
const perRequest = 2 * time.Millisecond

// service answers requests that each take perRequest of CPU, a lock, two hops over channels,
// a child span and some memory.
type service struct {
	tp      *spanprof.TracerProvider
	store   *store.Store
	tracer  trace.Tracer
	blocks  int // of sha256, that take perRequest
	mu      sync.Mutex
	garbage []byte
	ask     chan chan int
}

func newService() (*service, error) {
	st, err := store.New()
	if err != nil {
		return nil, err
	}
	s := &service{store: st, ask: make(chan chan int)}
	s.tp = spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(st.SpanProcessor())))
	s.tracer = s.tp.Tracer("tracecost")
	const blocks = 2000
	least := time.Hour
	for range 20 {
		from := time.Now()
		burn(blocks)
		least = min(least, time.Since(from))
	}
	s.blocks = max(1, int(blocks*perRequest/least))
	return s, nil
}

var sink [sha256.Size]byte

func burn(blocks int) {
	var b [1024]byte
	for range blocks {
		b[0]++
		sum := sha256.Sum256(b[:])
		b[1] = sum[0]
	}
	sinkMu.Lock()
	sink[0] += b[1]
	sinkMu.Unlock()
}

var sinkMu sync.Mutex

func (s *service) request() {
	ctx, root := s.tracer.Start(context.Background(), "GET /")
	defer root.End()
	answer := make(chan int)
	s.ask <- answer
	<-answer
	s.mu.Lock()
	s.garbage = make([]byte, 20_000)
	s.mu.Unlock()
	_, child := s.tracer.Start(ctx, "work")
	burn(s.blocks)
	child.End()
}

// slowRequests makes requests that are slow, as they sleep, until ctx ends: one at least.
func (s *service) slowRequests(ctx context.Context) {
	for first := true; first || ctx.Err() == nil; first = false {
		_, root := s.tracer.Start(context.Background(), "GET /slow")
		time.Sleep(slowRequest)
		root.End()
		select {
		case <-time.After(slowEvery - slowRequest):
		case <-ctx.Done():
		}
	}
}

// serve answers as many requests as there is time for, and returns their number and the
// CPU time of the process for each.
func (s *service) serve(length time.Duration, workers int) (requests int, each time.Duration, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	var answering, working sync.WaitGroup
	answering.Go(func() {
		for answer := range s.ask {
			answer <- 1
		}
	})
	working.Go(func() { s.slowRequests(ctx) })
	from, err := cpuTime()
	if err != nil {
		return 0, 0, err
	}
	done := make([]int, workers)
	for i := range workers {
		working.Go(func() {
			for ctx.Err() == nil || done[i] == 0 {
				s.request()
				done[i]++
			}
		})
	}
	working.Wait()
	to, err := cpuTime()
	close(s.ask)
	answering.Wait()
	s.ask = make(chan chan int)
	for _, n := range done {
		requests += n
	}
	return requests, (to - from) / time.Duration(requests), err
}

// cpuTime is what the process has used.
func cpuTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
