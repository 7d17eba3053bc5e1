// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Profbench prints what the profiler costs and what it loses, with intervals.
//
//	go run ./internal/integration/profbench
//	go run ./internal/integration/profbench -run loss -rounds 1
//	go run ./internal/integration/profbench -run loss -rows 'windows of 1 s,64 goroutines: scraped'
//
// By default it takes about half an hour. The figures of docs/costs.md come from a
// longer run on a machine that does nothing else:
//
//	go run ./internal/integration/profbench -rounds 4 -quads 700 -ends 10
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	log.SetFlags(0)
	if os.Getenv(neighbourEnv) != "" {
		neighbour()
		return
	}
	parts := flag.String("run", "windows,loss,overhead", "what to measure: the end of a window of each kind, lost samples, CPU time that is added")
	rounds := flag.Int("rounds", 3, "how often lost samples are measured, each way")
	segment := flag.Duration("segment", 30*time.Second, "how long, each time")
	quads := flag.Int("quads", 300, "how often the same work is done four times, with and without the profiler, and without it")
	ends := flag.Int("ends", 6, "how many windows are ended")
	flag.Parse()
	fmt.Printf("%s %s/%s, GOMAXPROCS %d\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	run := map[string]func(w *tabwriter.Writer) error{
		"windows":  printWindows,
		"loss":     func(w *tabwriter.Writer) error { return printLoss(w, *rounds, *segment) },
		"overhead": func(w *tabwriter.Writer) error { return printOverhead(w, *quads, *ends) },
	}
	for part := range strings.SplitSeq(*parts, ",") {
		measure, ok := run[part]
		if !ok {
			log.Fatalf("-run %s: use some of windows,loss,overhead", part)
		}
		fmt.Println()
		w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		if err := measure(w); err != nil {
			log.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			log.Fatal(err)
		}
	}
}
