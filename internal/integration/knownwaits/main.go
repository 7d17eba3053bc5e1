// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Knownwaits has spans wait in known ways for known times, under an execution trace, and
// compares what module exectrace says of them with the program's own clock.
//
//	go run ./internal/integration/knownwaits
//	go run ./internal/integration/knownwaits -o waits.trace -text
//
// A wait ends when another goroutine ends it; the program's clock stops when the goroutine
// runs again. So the time of being ready, which a busy machine makes long, is added to the
// wait's before the two are compared. Where Linux took the thread away between the clock and the
// wait, or the span is longer than the clock, the wait happens again, which is counted.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	rtrace "runtime/trace"
	"time"

	"github.com/spanprof/spanprof/exectrace"
)

func main() {
	wait := flag.Duration("wait", 20*time.Millisecond, "how long each wait is to last")
	rounds := flag.Int("rounds", 3, "how often each wait happens")
	out := flag.String("o", "", "write the trace to this `file`")
	text := flag.Bool("text", false, "print the whole analysis too")
	flag.Parse()
	if err := run(*wait, *rounds, *out, *text); err != nil {
		fmt.Fprintln(os.Stderr, "knownwaits:", err)
		os.Exit(1)
	}
}

func run(wait time.Duration, rounds int, out string, text bool) error {
	var results []result
	var trace []byte
	for range rounds {
		var err error
		var more []result
		if more, trace, err = record(wait); err != nil {
			return err
		}
		results = append(results, more...)
		if out != "" {
			if err := os.WriteFile(out, trace, 0o600); err != nil {
				return err
			}
		}
	}
	right, again := 0, 0
	fmt.Printf("%-18s %10s %10s %10s %10s %9s  %s\n", "wait", "clock ms", "wait ms", "ready ms", "off by ms", "sum %", "blockers")
	for i := range results {
		r := &results[i]
		if r.right() {
			right++
		}
		again += r.again
		fmt.Printf("%-18s %10.3f %10.3f %10.3f %10.3f %9.3f  %v%s\n", r.name, ms(r.clock), ms(r.waited), ms(r.ready), ms(r.off()), 100*r.sum, r.blockers, r.wrong())
	}
	fmt.Printf("%d of %d right: within max(1 %%, 0.2 ms) of the clock, and the blockers by name\n", right, len(results))
	fmt.Printf("%d waits happened again, as something came between the clock and the wait\n", again)
	if text {
		a, err := exectrace.Analyze(bytes.NewReader(trace), exectrace.WithSlowest(100))
		if err != nil {
			return err
		}
		return a.WriteText(os.Stdout)
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// record runs all waits once under an execution trace.
func record(wait time.Duration) ([]result, []byte, error) {
	var log bytes.Buffer
	d, err := newDemo(wait)
	if err != nil {
		return nil, nil, err
	}
	defer d.close()
	if err := rtrace.Start(&log); err != nil {
		return nil, nil, err
	}
	waits, err := d.runAll()
	rtrace.Stop()
	if err != nil {
		return nil, nil, err
	}
	results, err := compare(log.Bytes(), waits)
	return results, log.Bytes(), err
}
