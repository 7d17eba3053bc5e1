// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/exportertest"
	"github.com/spanprof/spanprof/profiler"
)

// printLoss compares the CPU time that the samples stand for with what the
// system says that the process took.
func printLoss(w *tabwriter.Writer, d time.Duration) error {
	fmt.Fprintf(w, "windows of 10 s, for %v\tsampled/actual CPU\tgoal\twindows\tmean CPU window\tscrapes\t\n", d)
	for _, test := range []struct {
		name    string
		scrapes []time.Duration
		goal    float64
	}{
		{"unscraped", nil, 0.99},
		{"scraped for 7 s and 14 s", []time.Duration{7 * time.Second, 14 * time.Second}, 0.97},
	} {
		rec := new(exportertest.Recorder)
		p, err := profiler.New(rec, profiler.WithKinds(exporter.KindCPU))
		if err != nil {
			return err
		}
		before, err := cpuTime()
		if err != nil {
			return err
		}
		if err := p.Start(); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), d)
		var (
			wg sync.WaitGroup
			mu sync.Mutex
			n  int
		)
		for _, seconds := range test.scrapes {
			wg.Go(func() {
				for ctx.Err() == nil {
					err := p.Profile(ctx, new(bytes.Buffer), exporter.KindCPU, seconds)
					if ctx.Err() != nil {
						return
					}
					if err != nil {
						log.Print(err)
						return
					}
					mu.Lock()
					n++
					mu.Unlock()
				}
			})
		}
		for ctx.Err() == nil {
			work(1)
		}
		wg.Wait()
		cancel()
		if err := p.Shutdown(context.Background()); err != nil {
			return err
		}
		after, err := cpuTime()
		if err != nil {
			return err
		}
		sampled, size, err := sum(rec.Profiles())
		if err != nil {
			return err
		}
		windows := len(rec.Profiles())
		fmt.Fprintf(w, "%s\t%.4f\t%.2f\t%d\t%.1f kB\t%d\t\n", test.name, sampled.Seconds()/(after-before).Seconds(), test.goal,
			windows, float64(size)/float64(windows)/1e3, n)
	}
	return nil
}

// sum returns the CPU time and the bytes of profiles.
func sum(profiles []*exporter.Profile) (cpu time.Duration, size int, err error) {
	for _, p := range profiles {
		b, err := p.Pprof()
		if err != nil {
			return 0, 0, err
		}
		size += len(b)
		parsed, err := p.Parsed()
		if err != nil {
			return 0, 0, err
		}
		for _, s := range parsed.Sample {
			cpu += time.Duration(s.Value[1])
		}
	}
	return cpu, size, nil
}
