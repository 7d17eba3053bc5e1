// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command outage puts the same outage of a backend before our exporters and before
// OpenTelemetry's batch span processor with otlptracehttp, and prints what became of
// what each was given:
//
//	go run ./internal/integration/outage
//
// The backend is away for -outage, while each gets its items: ten profiles or 200 spans a
// second, or -rate of both. It comes back with one more 503, and the program ends with
// -shutdown left.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"text/tabwriter"
	"time"

	"go.opentelemetry.io/otel"
)

func main() {
	outage := flag.Duration("outage", 13*time.Second, "how long the backend is away")
	shutdown := flag.Duration("shutdown", 5*time.Second, "how long Shutdown may take")
	rate := flag.Int("rate", 0, "items a second for each; 0 means 10 profiles and 200 spans")
	flag.Parse()
	if *rate > 0 {
		for i := range peers {
			peers[i].every = time.Second / time.Duration(*rate)
		}
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {})) // of the outage
	rows, err := run(*outage, *shutdown)
	if err == nil {
		fmt.Printf("an outage of %v, then one 503, then Shutdown with %v\n\n", *outage, *shutdown)
		err = show(os.Stdout, rows)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "outage:", err)
		os.Exit(1)
	}
}

// run has the outage for every peer at once.
func run(outage, shutdown time.Duration) ([]row, error) {
	rows := make([]row, len(peers))
	errs := make([]error, len(peers))
	var all sync.WaitGroup
	for i, p := range peers {
		all.Go(func() { rows[i], errs[i] = p.meet(outage, shutdown) })
	}
	all.Wait()
	return rows, errors.Join(errs...)
}

// show prints a table.
func show(w io.Writer, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "exporter\ta second\tgiven\tdelivered\ttwice\tlost\tcounted as lost\tShutdown returned")
	for i, r := range rows {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%v\n", peers[i].name, time.Second/peers[i].every, r.given, r.delivered, r.twice, r.given-r.delivered, r.counted, r.err)
	}
	return t.Flush()
}

// row is what became of what a peer was given.
type row struct {
	given, delivered int
	twice            int    // of those delivered
	counted          string // what it says itself
	err              error  // of Shutdown
}

// meet gives a peer items during an outage and shuts it down after it.
func (p peer) meet(outage, shutdown time.Duration) (row, error) {
	b, err := newBackend()
	if err != nil {
		return row{}, err
	}
	defer b.close()
	e, err := p.start(b.proxy.Address())
	if err != nil {
		return row{}, err
	}
	ctx := context.Background()
	var r row
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for begin := time.Now(); time.Since(begin) < outage; <-tick.C {
		e.give(ctx)
		r.given++
	}
	if err := b.comeBack(); err != nil {
		return r, err
	}
	ending, cancel := context.WithTimeout(ctx, shutdown)
	defer cancel()
	r.err = e.shutdown(ending)
	r.delivered, r.twice = b.delivered()
	r.counted = e.lost()
	return r, nil
}
