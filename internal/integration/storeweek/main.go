// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command storeweek feeds a store with a simulated week of a service. It prints how much
// the store still shows. Of 20 names it searches for the 3 slowest spans and the 3 with the
// most CPU. It also searches for the last span of each type of error, and counts samples.
//
//	go run ./internal/integration/storeweek
//	go run ./internal/integration/storeweek -rate 10 -max-mib 8 -unique 1 -time 24h
//
// Times come with the spans and profiles, so that a week takes about a minute of CPU.
// The week has bursts, idle nights, names that occur once, and streams of hours. Labels can be
// unique to a request. A seed makes it repeatable.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/spanprof/spanprof/store"
)

func main() {
	w := week{}
	maxMiB := flag.Int64("max-mib", 64, "bytes of the store in `MiB`")
	flag.DurationVar(&w.length, "time", 7*24*time.Hour, "simulated `time`")
	flag.Float64Var(&w.rate, "rate", 10, "spans a second by day, before bursts")
	flag.Float64Var(&w.unique, "unique", 0.5, "share of the requests with a label of their own")
	flag.IntVar(&w.oneOffs, "oneoffs", 300, "names that come once, at the start; a tenth as many come each hour")
	flag.Uint64Var(&w.seed, "seed", 1, "of the random numbers")
	every := flag.Duration("every", 12*time.Hour, "simulated `time` between two lines about the store; 0 for none")
	flag.Parse()

	s, err := store.New(store.WithMaxBytes(*maxMiB << 20))
	if err == nil {
		w.every = func(at time.Duration, refused int64, last error) {
			if *every > 0 && at%*every == 0 {
				fmt.Println(line(s.Stats(), at, refused, last))
			}
		}
		var r *report
		if r, err = w.run(s); err == nil {
			r.print(os.Stdout)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "storeweek:", err)
		os.Exit(1)
	}
}

// line reports how full the store is after a simulated time.
func line(s store.Stats, at time.Duration, refused int64, last error) string {
	text := fmt.Sprintf("%6.1f h: %5d windows, %6d spans, %5.1f of %d MiB", at.Hours(), s.Windows, s.Spans, float64(s.Bytes)/(1<<20), s.MaxBytes>>20)
	if refused > 0 {
		text += fmt.Sprintf("; %d profiles refused, the last: %v", refused, last)
	}
	return text
}
