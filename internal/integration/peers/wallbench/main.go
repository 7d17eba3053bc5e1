// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Wallbench prints the rounds of the kind wall, and their share of a core, at 100 to 10,000
// goroutines. fgprof, with 99 rounds a second, is beside it.
//
// All goroutines wait, each in a span of its own, which is the dearest there is:
// no two samples are the same. The share of a core is measured for the whole process, which does
// nothing else; measured is the profiler's own account. Each is
// measured several times, in turns: the figures are the median and, in brackets,
// the lowest and the highest.
//
//	GOWORK=off go -C internal/integration/peers run ./wallbench
//	GOWORK=off go -C internal/integration/peers run -tags spanprof_public ./wallbench
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
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
	each := flag.Duration("each", 20*time.Second, "how long each is measured, each time")
	times := flag.Int("times", 3, "how often each is measured")
	budget := flag.Float64("budget", 0.01, "share of a core that the wall kind may take")
	counts := flag.String("goroutines", "100,1000,10000", "how many goroutines there are")
	flag.Parse()
	if err := run(*each, *times, *budget, *counts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(each time.Duration, times int, budget float64, counts string) error {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { fmt.Fprintln(os.Stderr, err) }))
	fmt.Printf("%s %s/%s, GOMAXPROCS %d, %d times %v each, budget %.2f %% of a core\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), times, each, 100*budget)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "goroutines\twall rounds/s\tskipped\tmeasured %\tprocess %\tidle %\tfgprof/s\tprocess %\t")
	var source string
	for count := range strings.SplitSeq(counts, ",") {
		n, err := strconv.Atoi(count)
		if err != nil {
			return fmt.Errorf("goroutines: %w", err)
		}
		if source, err = compare(w, n, each, times, budget); err != nil {
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
func compare(w io.Writer, n int, each time.Duration, times int, budget float64) (source string, err error) {
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

	var idle, rounds, skipped, measured, wall, fg []float64
	for range times {
		idle = append(idle, 100*share(each/4))
		before, after, took, err := wallShare(each, budget)
		if err != nil {
			return "", err
		}
		wall = append(wall, 100*took)
		rounds = append(rounds, float64(after.Rounds-before.Rounds)/each.Seconds())
		skipped = append(skipped, float64(after.RoundsSkipped-before.RoundsSkipped))
		measured = append(measured, 100*(after.CPU-before.CPU).Seconds()/each.Seconds())
		source = after.Source

		stopFgprof := fgprof.Start(io.Discard, fgprof.FormatPprof)
		fg = append(fg, 100*share(each))
		if err := stopFgprof(); err != nil {
			return "", err
		}
	}
	fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t99\t%s\t\n", n, spread(rounds), spread(skipped), spread(measured), spread(wall), spread(idle), spread(fg))
	return source, nil
}

// wallShare measures with the wall kind alone, and returns the share of a core that
// the process takes.
func wallShare(each time.Duration, budget float64) (before, after profiler.WallStatus, took float64, err error) {
	p, err := profiler.New(exporter.NewMulti(), profiler.WithKinds(exporter.KindWall), profiler.WithWallBudget(budget))
	if err != nil {
		return before, after, 0, err
	}
	// The first rounds find out what a round costs.
	<-time.After(each / 4)
	before = p.Status().Wall
	took = share(each)
	after = p.Status().Wall
	return before, after, took, p.Shutdown(context.Background())
}

// spread formats the median, the lowest and the highest.
func spread(xs []float64) string {
	xs = slices.Sorted(slices.Values(xs))
	return fmt.Sprintf("%.2f (%.2f-%.2f)", xs[len(xs)/2], xs[0], xs[len(xs)-1])
}
