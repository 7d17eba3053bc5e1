// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/exportertest"
	"github.com/spanprof/spanprof/profiler"
)

// printLoss compares the CPU time that samples stand for with what the system
// says that the process took. One run of runtime/pprof without an end in between
// shows what the runtime loses by itself, which depends on the machine and on who
// else uses it.
func printLoss(w *tabwriter.Writer, d time.Duration) error {
	fmt.Fprintf(w, "windows of 10 s, for %v\tsampled/actual CPU\tgoal\tto runtime/pprof\twindows\tmean CPU window\tscrapes\t\n", d)
	var alone float64
	for _, test := range []struct {
		name string
		goal string
		run  func(ctx context.Context) (result, error)
	}{
		{"runtime/pprof alone, one profile", "", oneProfile},
		{"unscraped", "0.99", func(ctx context.Context) (result, error) { return windows(ctx) }},
		{"scraped for 7 s and 14 s", "0.97", func(ctx context.Context) (result, error) {
			return windows(ctx, 7*time.Second, 14*time.Second)
		}},
	} {
		before, err := cpuTime()
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), d)
		r, err := test.run(ctx)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", test.name, err)
		}
		after, err := cpuTime()
		if err != nil {
			return err
		}
		sampled, size, err := sum(r.profiles)
		if err != nil {
			return err
		}
		ratio := sampled.Seconds() / (after - before).Seconds()
		if alone == 0 {
			alone = ratio
		}
		fmt.Fprintf(w, "%s\t%.4f\t%s\t%.4f\t%d\t%.1f kB\t%d\t\n", test.name, ratio, test.goal, ratio/alone,
			len(r.profiles), float64(size)/float64(len(r.profiles))/1e3, r.scrapes)
	}
	return nil
}

// result is what a run until the end of its context has measured.
type result struct {
	profiles []*exporter.Profile
	scrapes  int64
}

func oneProfile(ctx context.Context) (result, error) {
	var b bytes.Buffer
	if err := pprof.StartCPUProfile(&b); err != nil {
		return result{}, err
	}
	for ctx.Err() == nil {
		work(1)
	}
	pprof.StopCPUProfile()
	return result{profiles: []*exporter.Profile{exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU}, b.Bytes())}}, nil
}

// windows measures with a Profiler, and with scrapers that ask again and again
// for so many seconds.
func windows(ctx context.Context, scrapes ...time.Duration) (result, error) {
	rec := new(exportertest.Recorder)
	p, err := profiler.New(rec, profiler.WithKinds(exporter.KindCPU))
	if err != nil {
		return result{}, err
	}
	if err := p.Start(); err != nil { //nolint:contextcheck // what it starts ends with Shutdown
		return result{}, err
	}
	var (
		scrapers sync.WaitGroup
		scraped  atomic.Int64
		failed   atomic.Pointer[error]
	)
	for _, d := range scrapes {
		scrapers.Go(func() {
			for {
				err := p.Profile(ctx, new(bytes.Buffer), exporter.KindCPU, d)
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					failed.Store(&err)
					return
				}
				scraped.Add(1)
			}
		})
	}
	for ctx.Err() == nil {
		work(1)
	}
	scrapers.Wait()
	if err := p.Shutdown(context.WithoutCancel(ctx)); err != nil {
		return result{}, err
	}
	if err := failed.Load(); err != nil {
		return result{}, *err
	}
	return result{profiles: rec.Profiles(), scrapes: scraped.Load()}, nil
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
