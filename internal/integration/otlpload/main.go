// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command otlpload sends a bounded number of spans to an OTLP/gRPC receiver, and prints
// how many were taken. The spans are a small shop's: traces of ten spans over five
// services, sent as each service's SDK would send them.
//
//	go run ./internal/integration/otlpload -to 127.0.0.1:4317 -spans 1000000 -rate 40000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	tracecollector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

func main() {
	var l load
	flag.StringVar(&l.to, "to", "127.0.0.1:4317", "`address` of the receiver")
	flag.IntVar(&l.spans, "spans", 100_000, "spans to send, rounded up to whole rounds of 2,560")
	flag.IntVar(&l.rate, "rate", 40_000, "spans a second at most; 0 sends as fast as they are taken")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	start := time.Now()
	err := l.send(ctx)
	stop()
	fmt.Printf("%d spans sent in %.1f s\n", l.sent.Load(), time.Since(start).Seconds())
	if err != nil {
		fmt.Fprintln(os.Stderr, "otlpload:", err)
		os.Exit(1)
	}
}

// senders is the number of concurrent requests. More would fill the receiver's queue
// with messages, not spans.
const senders = 4

type load struct {
	to          string
	spans, rate int
	sent        atomic.Int64 // spans that the receiver has taken
}

// send sends all spans. It stops at the first error.
func (l *load) send(ctx context.Context) error {
	if l.spans <= 0 || l.rate < 0 {
		return fmt.Errorf("-spans %d -rate %d: want a number of spans, and no negative rate", l.spans, l.rate)
	}
	conn, err := grpc.NewClient(l.to, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	rounds := make(chan time.Time) // when each is due
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			for due := range rounds {
				if err := l.round(ctx, conn, due); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	l.schedule(ctx, rounds)
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("send to %s: %w", l.to, err)
	}
	return nil
}

// schedule sends rounds at the rate, until all are sent or ctx ends.
func (l *load) schedule(ctx context.Context, rounds chan<- time.Time) {
	defer close(rounds)
	due := time.Now()
	for left := l.spans; left > 0; left -= spansOfRound {
		if l.rate > 0 {
			due = due.Add(time.Duration(spansOfRound) * time.Second / time.Duration(l.rate))
		}
		select {
		case <-time.After(time.Until(due)):
		case <-ctx.Done():
			return
		}
		select {
		case rounds <- due:
		case <-ctx.Done():
			return
		}
	}
}

// round sends some traces, one request for each service.
func (l *load) round(ctx context.Context, conn *grpc.ClientConn, at time.Time) error {
	for _, request := range newRound(at) {
		var response tracecollector.ExportTraceServiceResponse
		err := conn.Invoke(ctx, "/opentelemetry.proto.collector.trace.v1.TraceService/Export", request, &response, grpc.WaitForReady(true))
		if err != nil {
			return err
		}
		if p := response.GetPartialSuccess(); p.GetRejectedSpans() > 0 {
			return errors.New("spans rejected: " + p.GetErrorMessage())
		}
		for _, rs := range request.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				l.sent.Add(int64(len(ss.GetSpans())))
			}
		}
	}
	return nil
}
