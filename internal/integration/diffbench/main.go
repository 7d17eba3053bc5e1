// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command diffbench measures false and true findings of package compare:
//
//	go run ./internal/integration/diffbench -dir DIRECTORY
//
// It runs one binary as many processes, which serve a mix of requests in twenty functions. Two
// sides have the same work: each flagged function is false. On a third side, one function does a
// fifth more. The processes take about ten minutes on two idle cores.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/compare"
)

func main() {
	var c campaign
	flag.IntVar(&c.rounds, "rounds", 8, "how many times two sides are compared")
	flag.StringVar(&c.job.dir, "dir", "", "`directory` for the profiles")
	flag.IntVar(&c.job.requests, "requests", 13_000, "requests that a process serves")
	flag.Float64Var(&c.job.by, "by", 0.2, "how much more f00 does on the slow side")
	process := flag.Bool("process", false, "be one of the processes")
	flag.Parse()
	var err error
	if *process {
		err = c.job.do(context.Background())
	} else {
		err = errors.Join(c.run(context.Background()), c.report(os.Stdout))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "diffbench:", err)
		os.Exit(1)
	}
}

// replicas is the number of processes a side.
const replicas = 5

// sides have the same work, except the slow one.
var sides = []string{"a", "b", "slow"}

type campaign struct {
	job    job
	rounds int
}

func (c campaign) side(round int, side string, replica int) string {
	return filepath.Join(c.job.dir, strconv.Itoa(round), side, strconv.Itoa(replica))
}

// run runs one process after the other, in alternating order: the speed of a shared machine
// drifts.
func (c campaign) run(ctx context.Context) error {
	if c.job.dir == "" {
		return errors.New("use -dir")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for round := range c.rounds {
		for replica := range replicas {
			for i := range sides {
				side := sides[(i+replica)%len(sides)]
				by := 0.0
				if side == "slow" {
					by = c.job.by
				}
				cmd := exec.CommandContext(ctx, self, "-process", "-dir", c.side(round, side, replica), "-requests", strconv.Itoa(c.job.requests), "-by", fmt.Sprint(by))
				cmd.Stderr = os.Stderr
				if err := cmd.Run(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// report compares the sides of every round.
func (c campaign) report(w io.Writer) error {
	fmt.Fprintf(w, "%5s %13s %6s %7s %5s  %s\n", "round", "samples a run", "tested", "flagged", "found", "f00, with its interval")
	tested, flagged, found := 0, 0, 0
	for round := range c.rounds {
		var read [3]*compare.Side
		for i, side := range sides {
			var err error
			if read[i], err = c.read(round, side); err != nil {
				return err
			}
		}
		same, err := compare.Compare(read[0], read[1], compare.PerRequest)
		if err != nil {
			return err
		}
		planted, err := compare.Compare(read[0], read[2], compare.PerRequest)
		if err != nil {
			return err
		}
		moved := 0
		for _, f := range same.Functions {
			if f.Moved {
				moved++
			}
		}
		tested, flagged = tested+same.Tested, flagged+moved
		for _, f := range planted.Functions {
			if f.Name != "main.f00" || f.Total.Test == nil {
				continue
			}
			if f.Moved {
				found++
			}
			test := f.Total.Test
			fmt.Fprintf(w, "%5d %13.0f %6d %7d %5v  x %.2f (%.2f to %.2f)\n", round+1, same.Before.Samples/float64(replicas), same.Tested, moved, f.Moved, f.Total.Ratio, test.Low, test.High)
		}
	}
	_, err := fmt.Fprintf(w, "%5s %13s %6d %7d %d of %d\n", "all", "", tested, flagged, found, c.rounds)
	return err
}

func (c campaign) read(round int, name string) (*compare.Side, error) {
	side := compare.NewSide(compare.Selection{})
	for replica := range replicas {
		paths, err := filepath.Glob(filepath.Join(c.side(round, name, replica), "*.pprof.gz"))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			if err := side.Add(strconv.Itoa(replica), exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU}, data)); err != nil {
				return nil, err
			}
		}
	}
	return side, side.SetWork(float64(c.job.requests))
}
