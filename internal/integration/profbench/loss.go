// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/profiler"
)

// loss is a way to profile a load.
type loss struct {
	name string
	load load
	run  func(ctx context.Context, l load) (result, error)
}

// losses are the ways to profile that are compared. The first of each load is what
// the others are held against: one profile by runtime/pprof, without an end in between.
// What that loses, the runtime and the machine lose, by the timers of threads. All that a
// way to profile does is in the CPU time that it is held against; it is in its samples too,
// except for what follows the last one, which each way has once.
var losses = []loss{
	{"runtime/pprof, one profile", busy, one},
	{"windows of 10 s", busy, windows(window)},
	{"windows of 10 s, scraped for 7 s and 14 s", busy, windows(window, 7*time.Second, 14*time.Second)},
	{"windows of 1 s", busy, windows(time.Second)},
	{"runtime/pprof, stopped and started every 1 s", busy, func(ctx context.Context, l load) (result, error) { return byHand(ctx, time.Second, l) }},
	{"idle: runtime/pprof, one profile", idle, one},
	{"idle: windows of 10 s", idle, windows(window)},
	{"idle: windows of 10 s, scraped for 7 s and 14 s", idle, windows(window, 7*time.Second, 14*time.Second)},
	{"64 goroutines: runtime/pprof, one profile", saturated, one},
	{"64 goroutines: windows of 10 s", saturated, windows(window)},
	{"64 goroutines: scraped for 7 s and 14 s", saturated, windows(window, 7*time.Second, 14*time.Second)},
	{"neighbours: runtime/pprof, one profile", crowded, one},
	{"neighbours: windows of 10 s", crowded, windows(window)},
	{"neighbours: scraped for 7 s and 14 s", crowded, windows(window, 7*time.Second, 14*time.Second)},
}

// one is one profile by runtime/pprof.
func one(ctx context.Context, l load) (result, error) { return byHand(ctx, time.Hour, l) }

// printLoss compares the CPU time of samples with the CPU time of the process. Ends of windows show in what they lose beyond one
// long profile of the same load in the same round; windows of 1 s have ten times as many.
func printLoss(w *tabwriter.Writer, rounds int, d time.Duration) error {
	ratios := make([][]float64, len(losses))
	relative := make([][]float64, len(losses))
	totals := make([]struct {
		profiles, bytes, scrapes int
	}, len(losses))
	for n := range rounds {
		for i := range losses {
			which := (i + n) % len(losses) // each is first in turn
			ratio, r, size, err := measureLoss(losses[which], d)
			if err != nil {
				return fmt.Errorf("%s: %w", losses[which].name, err)
			}
			ratios[which] = append(ratios[which], ratio)
			totals[which].profiles += len(r.profiles)
			totals[which].bytes += size
			totals[which].scrapes += int(r.scrapes)
		}
		first := 0
		for i := range losses {
			if losses[i].load != losses[first].load {
				first = i
			}
			relative[i] = append(relative[i], ratios[i][n]/ratios[first][n])
		}
	}
	fmt.Fprintf(w, "sampled/actual CPU, %d times %v\tmean\t95 %% interval\tto the one profile\t95 %% interval\tends\tmean profile\tscrapes\t\n", rounds, d)
	for i, l := range losses {
		t := totals[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%.1f kB\t%d\t\n", l.name, estimateOf(ratios[i]).columns("%.4f", ""),
			estimateOf(relative[i]).columns("%.4f", ""), t.profiles, float64(t.bytes)/float64(t.profiles)/1e3, t.scrapes)
	}
	return nil
}

func measureLoss(l loss, d time.Duration) (ratio float64, r result, size int, err error) {
	before, err := cpuTime()
	if err != nil {
		return 0, r, 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	left, err := l.load.crowd(ctx)
	if err != nil {
		return 0, r, 0, err
	}
	defer left()
	if r, err = l.run(ctx, l.load); err != nil {
		return 0, r, 0, err
	}
	after, err := cpuTime()
	if err != nil {
		return 0, r, 0, err
	}
	sampled, size, err := sum(r.profiles)
	return sampled.Seconds() / (after - before).Seconds(), r, size, err
}

// result is what a run until the end of its context has measured.
type result struct {
	profiles []*exporter.Profile
	scrapes  int64
}

// byHand uses runtime/pprof, with a profile for each d.
func byHand(ctx context.Context, d time.Duration, l load) (result, error) {
	working, stop := context.WithCancel(context.Background())
	wait := l.start(working)
	defer wait()
	defer stop()
	var r result
	var failed error
	for ctx.Err() == nil && failed == nil {
		b := new(bytes.Buffer)
		if failed = pprof.StartCPUProfile(b); failed != nil {
			break
		}
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			stop()
			wait()
		}
		pprof.StopCPUProfile()
		r.profiles = append(r.profiles, exporter.NewProfile(exporter.Window{Kind: exporter.KindCPU}, b.Bytes()))
	}
	return r, failed
}

// windows measures a load with a Profiler, and with scrapers that fetch profiles
// of such durations again and again.
func windows(d time.Duration, scrapes ...time.Duration) func(ctx context.Context, l load) (result, error) {
	return func(ctx context.Context, l load) (result, error) { return measureWindows(ctx, l, d, scrapes) }
}

func measureWindows(ctx context.Context, l load, d time.Duration, scrapes []time.Duration) (result, error) {
	rec := new(exportertest.Recorder)
	p, err := profiler.New(rec, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(d))
	if err != nil {
		return result{}, err
	}
	var (
		others  sync.WaitGroup
		scraped atomic.Int64
		mu      sync.Mutex
		failed  error
	)
	for _, d := range scrapes {
		others.Go(func() {
			for {
				err := p.Profile(ctx, new(bytes.Buffer), exporter.KindCPU, d)
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed = errors.Join(failed, err)
					return
				}
				scraped.Add(1)
			}
		})
	}
	l.start(ctx)()
	others.Wait()
	if err := p.Shutdown(context.WithoutCancel(ctx)); err != nil {
		return result{}, err
	}
	return result{profiles: rec.Profiles(), scrapes: scraped.Load()}, failed
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
