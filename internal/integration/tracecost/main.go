// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Tracecost prints what the flight recorder of module exectrace costs a service, and how it
// protects one that it would cost too much.
//
//	go run ./internal/integration/tracecost
//	go run ./internal/integration/tracecost -run flood
//
// cost compares the CPU time of requests with a recorder and without, in turns, in one
// process with 100 MB of ballast: without ballast the recorder's own heap makes collections
// rarer, and it looks free. Slow spans end all the time, so that recordings are read as often
// as the recorder reads them. flood has goroutines do nothing but channel operations while
// slow spans end, from some time before a reading is due, and says when the recorder pauses and
// what heap it takes until then and for two seconds more.
//
// What a span costs without a recorder, by the guard of its mark:
//
//	go test -run '^$' -bench TraceMarkOff .
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

// readAgain is when the recorder of a flood reads for the second time: it does so first a second
// after the first slow span.
const readAgain = 11*time.Second + slowRequest

// floodsBefore is how long before a reading is due floods begin.
var floodsBefore = []time.Duration{time.Second, 600 * time.Millisecond, 300 * time.Millisecond, 100 * time.Millisecond, 0}

func main() {
	what := flag.String("run", "all", "what to measure: cost, flood or all")
	pairs := flag.Int("pairs", 10, "cost: how many times to compare")
	segment := flag.Duration("segment", 12*time.Second, "how long each part is, a flood at most; a recording is read at most once in 10 s")
	workers := flag.Int("workers", 1, "cost: how many requests at a time")
	budget := flag.Float64("budget", 0.01, "share of a core that the recorder may cost")
	flag.Parse()
	if err := run(*what, *pairs, *segment, *workers, *budget); err != nil {
		fmt.Fprintln(os.Stderr, "tracecost:", err)
		os.Exit(1)
	}
}

func run(what string, pairs int, segment time.Duration, workers int, budget float64) error {
	if what != "cost" && what != "flood" && what != "all" {
		return fmt.Errorf("-run %q: known are cost, flood and all", what)
	}
	if what != "flood" {
		c, err := measureCost(pairs, segment, workers, budget)
		if err != nil {
			return err
		}
		fmt.Print(c.report())
	}
	if what != "cost" {
		for _, before := range floodsBefore {
			f, err := measureFlood(readAgain-before, segment, budget)
			if err != nil {
				return err
			}
			fmt.Printf("from %v before a reading on: %s", before, f.report())
		}
	}
	return nil
}
