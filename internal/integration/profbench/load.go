// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// load is what the process, and others, do while samples are taken.
type load struct {
	goroutines int
	pause      time.Duration // of each, after some work
	neighbours bool          // a process that works on each core
}

var (
	busy = load{goroutines: 1}
	// idle works for a tenth of the time, in pieces that are shorter than the time
	// between two samples.
	idle = load{goroutines: 1, pause: 9 * time.Millisecond}
	// saturated has more to do than the cores can: the end of a profile waits for one.
	saturated = load{goroutines: 64}
	crowded   = load{goroutines: 1, neighbours: true}
)

// start has goroutines of their own work until ctx ends. The function that it returns
// waits for them.
func (l load) start(ctx context.Context) (wait func()) {
	var working sync.WaitGroup
	for range l.goroutines {
		working.Go(func() {
			for ctx.Err() == nil {
				begin := time.Now()
				for time.Since(begin) < time.Millisecond {
					work(1)
				}
				if l.pause > 0 {
					<-time.After(l.pause)
				}
			}
		})
	}
	return working.Wait
}

// neighbourEnv has this program do nothing but work, until its standard input ends.
const neighbourEnv = "PROFBENCH_NEIGHBOUR"

// crowd starts the neighbours. The function that it returns ends them; so does the end
// of this process.
func (l load) crowd(ctx context.Context) (end func(), err error) {
	var ends []func()
	end = func() {
		for _, end := range ends {
			end()
		}
	}
	if !l.neighbours {
		return end, nil
	}
	for range runtime.NumCPU() {
		command := exec.CommandContext(ctx, os.Args[0]) //nolint:gosec // this program
		command.Env = append(os.Environ(), neighbourEnv+"=1")
		in, err := command.StdinPipe()
		if err == nil {
			err = command.Start()
		}
		if err != nil {
			end()
			return nil, fmt.Errorf("neighbour: %w", err)
		}
		ends = append(ends, func() {
			_ = in.Close()
			_ = command.Wait() // killed by ctx, as a rule
		})
	}
	return end, nil
}

// neighbour works until its standard input ends.
func neighbour() {
	runtime.GOMAXPROCS(2) // one works, one reads
	go func() {
		for {
			work(1)
		}
	}()
	_, _ = os.Stdin.Read(make([]byte, 1))
}
