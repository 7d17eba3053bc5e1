// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Wallbench prints how often the profiler's wall kind looks at 100, 1000 and
// 10,000 goroutines and how much of a core that takes, beside fgprof, which
// looks at them 99 times a second.
//
// All goroutines wait, each in a span of its own, which is the dearest there is:
// no two samples are the same. The share of a core is that of the whole process,
// which does nothing else; measured is what the profiler says of itself.
//
//	go run ./internal/integration/wallbench
//	go run -tags spanprof_public ./internal/integration/wallbench
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/felixge/fgprof"
	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler"
)

func main() {
	each := flag.Duration("each", 20*time.Second, "how long each is measured")
	budget := flag.Float64("budget", 0.01, "share of a core that the wall kind may take")
	counts := flag.String("goroutines", "100,1000,10000", "how many goroutines there are")
	flag.Parse()
	if err := run(*each, *budget, *counts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(each time.Duration, budget float64, counts string) error {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { fmt.Fprintln(os.Stderr, err) }))
	fmt.Printf("%s %s/%s, GOMAXPROCS %d, %v each, budget %.2f %% of a core\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), each, 100*budget)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "goroutines\twall rounds/s\tskipped\tmeasured %\tprocess %\tidle %\tfgprof/s\tprocess %\t")
	var source string
	for count := range strings.SplitSeq(counts, ",") {
		n, err := strconv.Atoi(count)
		if err != nil {
			return fmt.Errorf("goroutines: %w", err)
		}
		if source, err = compare(w, n, each, budget); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Printf("\nrounds are taken by the %s way\n", source)
	return nil
}

// compare prints a line about n goroutines.
func compare(w io.Writer, n int, each time.Duration, budget float64) (source string, err error) {
	stop := make(chan struct{})
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer close(stop)
	for i := range n {
		waiting.Go(func() {
			id := fmt.Sprintf("%016x", i+1)
			pprof.Do(context.Background(), pprof.Labels("span_id", id, "profile_id", id, "span_name", "waiting"), func(context.Context) { <-stop })
		})
	}

	idle := share(each / 4)
	p, err := profiler.New(exporter.NewMulti(), profiler.WithKinds(exporter.KindWall), profiler.WithWallBudget(budget))
	if err != nil {
		return "", err
	}
	if err := p.Start(); err != nil {
		return "", err
	}
	// The first rounds find out what a round costs.
	<-time.After(each / 4)
	before := p.Status().Wall
	wall := share(each)
	after := p.Status().Wall
	if err := p.Shutdown(context.Background()); err != nil {
		return "", err
	}

	stopFgprof := fgprof.Start(io.Discard, fgprof.FormatPprof)
	fg := share(each)
	if err := stopFgprof(); err != nil {
		return "", err
	}
	fmt.Fprintf(w, "%d\t%.2f\t%d\t%.2f\t%.2f\t%.2f\t99\t%.2f\t\n", n,
		float64(after.Rounds-before.Rounds)/each.Seconds(), after.RoundsSkipped-before.RoundsSkipped,
		100*(after.CPU-before.CPU).Seconds()/each.Seconds(), 100*wall, 100*idle, 100*fg)
	return after.Source, nil
}
