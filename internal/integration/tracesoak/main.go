// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Tracesoak looks for spans that the analysis of execution traces loses, and for traces
// that it cannot read, while a program does all that is known to be hard for traces:
// collections of garbage, changes of GOMAXPROCS, CPU profiles, a second trace beside the
// flight recorder, other processes, and threads that end.
//
//	go run ./internal/integration/tracesoak -duration 30m
//	go run ./internal/integration/tracesoak -duration 30m -direct
//
// The program writes down each span itself. By default exectrace.Start has the flight
// recorder: every local root is a slow span to it, has to be in one of its counters, and may
// not be missing in a recording that it was in time for. With -direct the program reads the
// flight recorder itself: every span that began and ended within the time of a recording has
// to be in the analysis of it, as in those of the traces beside it. What is found has to have
// its id and its name, and its states have to add up to its duration. The exit code is 1 if
// something is wrong, or a recording cannot be read.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	length := flag.Duration("duration", 2*time.Minute, "how long to run")
	every := flag.Duration("every", usualEvery, "how often a trace is recorded beside, and with -direct the flight recorder is read")
	window := flag.Duration("window", usualWindow, "how far a flight recording reaches back")
	direct := flag.Bool("direct", false, "read the flight recorder without exectrace.Start")
	keep := flag.String("keep", "", "write the recordings that cannot be read to this `directory`")
	flag.Parse()
	s, err := newSoak(*direct)
	if err == nil {
		s.every, s.window, s.keep = *every, *window, *keep
		err = s.runUntilInterrupt(*length)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tracesoak:", err)
		os.Exit(1)
	}
	fmt.Print(s.report())
	if !s.passed() {
		os.Exit(1)
	}
}

func (s *soak) runUntilInterrupt(length time.Duration) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return s.run(ctx, length)
}
