// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Profbench prints what the profiler costs and what it loses.
//
//	go run ./internal/integration/profbench
//
// By default it takes about four minutes. The figures of the README come from
// longer runs:
//
//	go run ./internal/integration/profbench -loss 140s -pairs 1000
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"text/tabwriter"
	"time"
)

func main() {
	log.SetFlags(0)
	loss := flag.Duration("loss", 30*time.Second, "how long to measure lost samples, each time: by runtime/pprof alone, without and with scrapers; 0 to skip")
	pairs := flag.Int("pairs", 120, "pairs of the same work with and without the profiler; 0 to skip")
	windows := flag.Bool("windows", true, "measure one window of each kind")
	flag.Parse()
	fmt.Printf("%s %s/%s, GOMAXPROCS %d\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	for _, part := range []struct {
		on  bool
		run func(w *tabwriter.Writer) error
	}{
		{*windows, printWindows},
		{*loss > 0, func(w *tabwriter.Writer) error { return printLoss(w, *loss) }},
		{*pairs > 0, func(w *tabwriter.Writer) error { return printOverhead(w, *pairs) }},
	} {
		if !part.on {
			continue
		}
		fmt.Println()
		w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		if err := part.run(w); err != nil {
			log.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			log.Fatal(err)
		}
	}
}
