// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command diffbench measures what package compare claims and what it finds:
//
//	go run ./internal/integration/diffbench -dir DIRECTORY
//
// It runs one binary as many processes. Each serves a mix of requests that call forty functions.
// Two sides have the same work, and on a third one function does a fifth more. Everything that is
// flagged between the same two sides is wrong. The table has a test of two proportions beside
// it. The processes take about ten minutes on two idle cores. -again compares the profiles of
// -dir once more.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

func main() {
	var c campaign
	flag.IntVar(&c.rounds, "rounds", 8, "how many times two sides are compared")
	flag.IntVar(&c.replicas, "replicas", 5, "processes a side")
	flag.StringVar(&c.job.dir, "dir", "", "`directory` for the profiles")
	flag.IntVar(&c.job.requests, "requests", 3600, "requests that a process serves")
	flag.StringVar(&c.job.slow, "slow", "priceCart", "the `function` that does more on one side")
	flag.Float64Var(&c.job.by, "by", 0.2, "how much more: 0.2 is a fifth")
	again := flag.Bool("again", false, "compare the profiles that are in -dir already")
	process := flag.Bool("process", false, "be one of the processes")
	flag.Parse()
	var err error
	switch {
	case *process:
		err = c.job.do(context.Background())
	case *again:
		err = c.report(os.Stdout)
	default:
		err = errors.Join(c.run(context.Background()), c.report(os.Stdout))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "diffbench:", err)
		os.Exit(1)
	}
}

// sides have the same work twice, and a slower function.
var sides = []string{"a", "b", "slow"}

type campaign struct {
	job              job
	rounds, replicas int
}

// run runs one process after the other, the sides by turns: the speed of a machine that
// is shared drifts.
func (c campaign) run(ctx context.Context) error {
	if c.job.dir == "" {
		return errors.New("no directory: use -dir")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	begin := time.Now()
	for round := range c.rounds {
		for replica := range c.replicas {
			for i := range sides {
				side := sides[(i+replica)%len(sides)]
				dir := filepath.Join(c.job.dir, strconv.Itoa(round+1), side, strconv.Itoa(replica+1))
				args := []string{"-process", "-dir", dir, "-requests", strconv.Itoa(c.job.requests), "-slow", ""}
				if side == "slow" {
					args = append(args, "-slow", c.job.slow, "-by", fmt.Sprint(c.job.by))
				}
				if err := runProcess(ctx, self, dir, args); err != nil {
					return err
				}
			}
		}
		fmt.Printf("round %d: %v\n", round+1, time.Since(begin).Round(time.Second))
	}
	return nil
}

// runProcess runs a process until its profile is whole: on a machine that is overloaded
// the profiler may give up waiting for it. Which processes ran again is printed.
func runProcess(ctx context.Context, self, dir string, args []string) error {
	const attempts = 3
	for attempt := 1; ; attempt++ {
		cmd := exec.CommandContext(ctx, self, args...)
		cmd.Stderr = os.Stderr
		err := cmd.Run()
		if err == nil || attempt == attempts || ctx.Err() != nil {
			return err
		}
		fmt.Printf("%s: again: %v\n", dir, err)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
}
