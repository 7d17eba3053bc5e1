// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	rtrace "runtime/trace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spanprof/spanprof/exectrace"
)

// floodMaxBytes is WithMaxBytes of the recorder under a flood.
const floodMaxBytes = 10 << 20

// afterFlood is for how long the heap is looked at when nothing is traced any more.
const afterFlood = 2 * time.Second

// floodPairs is how many pairs of goroutines pass a number to and fro.
var floodPairs = runtime.GOMAXPROCS(0)

// flood is what happened under channel operations alone.
type flood struct {
	perSecond  float64       // channel operations without a recorder
	recorded   float64       // channel operations a second until it did not record
	readings   [2]uint64     // before the flood and in it
	slow       uint64        // slow spans that ended in the flood
	paused     time.Duration // until the recorder said so
	ended      time.Duration // until no execution trace was on
	state      exectrace.State
	err        error
	heap       uint64 // the most, over that before
	generation int64  // the most bytes of trace a second
}

// channels has goroutines do nothing but channel operations, which it counts, until ctx ends.
func channels(ctx context.Context, operations *atomic.Int64, working *sync.WaitGroup) {
	for range floodPairs {
		there, back := make(chan int), make(chan int)
		working.Go(func() {
			defer close(there)
			for n := 0; n%1000 != 0 || ctx.Err() == nil; n++ {
				there <- n
				<-back
				if n%1000 == 999 {
					operations.Add(4 * 1000) // each a send and a receive, both ways
				}
			}
		})
		working.Go(func() {
			for n := range there {
				back <- n
			}
		})
	}
}

// measureFlood has a recorder on in a program in which slow spans end, for a time quiet, and
// then floods it until nothing has been traced for a time, for segment at most.
func measureFlood(quiet, segment time.Duration, budget float64) (*flood, error) {
	s, err := newService()
	if err != nil {
		return nil, err
	}
	f := &flood{perSecond: ratePerSecond()}
	ctx, cancel := context.WithCancel(context.Background())
	var working sync.WaitGroup
	defer working.Wait()
	defer cancel()
	r, err := exectrace.Start(s.tp, s.store, exectrace.WithBudget(budget), exectrace.WithMaxBytes(floodMaxBytes), exectrace.WithThreshold(slowRequest))
	if err != nil {
		return nil, err
	}
	working.Go(func() { s.slowRequests(ctx) })
	time.Sleep(quiet)
	f.readings[0] = counter(r, "recordings read")
	slowBefore := counter(r, "slow spans")
	runtime.GC()
	base := heap()
	var operations atomic.Int64
	from := time.Now()
	channels(ctx, &operations, &working)
	for time.Since(from) < segment && (f.ended == 0 || time.Since(from) < f.ended+afterFlood) {
		time.Sleep(10 * time.Millisecond)
		status := r.Status()
		if f.paused == 0 && status.State != exectrace.Recording {
			f.paused, f.state, f.err = time.Since(from), status.State, status.Err
			f.recorded = float64(operations.Load()) / f.paused.Seconds()
		}
		if f.ended == 0 && !rtrace.IsEnabled() {
			f.ended = time.Since(from)
		}
		f.generation = max(f.generation, status.BytesPerSecond)
		if h := heap(); h > base {
			f.heap = max(f.heap, h-base)
		}
	}
	f.readings[1] = counter(r, "recordings read") - f.readings[0]
	f.slow = counter(r, "slow spans") - slowBefore
	return f, r.Shutdown(context.Background())
}

// ratePerSecond returns how many channel operations a second are possible.
func ratePerSecond() float64 {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	var operations atomic.Int64
	var working sync.WaitGroup
	channels(ctx, &operations, &working)
	time.Sleep(time.Second)
	before := operations.Load()
	time.Sleep(time.Second)
	n := operations.Load() - before
	cancel()
	working.Wait()
	return float64(n)
}

func counter(r *exectrace.Recorder, name string) uint64 {
	for got, n := range r.Counters() {
		if got == "exact times: "+name {
			return n
		}
	}
	return 0
}

// heap is what objects take, those too that are garbage.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func (f *flood) report() string {
	when := "it never paused"
	if f.paused > 0 {
		when = fmt.Sprintf("%s after %.2f s, no trace after %.2f s (%v)", f.state, f.paused.Seconds(), f.ended.Seconds(), f.err)
	}
	bound := 2*floodMaxBytes + f.generation
	return fmt.Sprintf(`%.2g channel operations a second, %.2g while recorded, with %d slow spans, %d readings before and %d in the flood: %s
heap: %.1f MB more at most; twice WithMaxBytes and a second of trace are %.1f MB
`, f.perSecond, f.recorded, f.slow, f.readings[0], f.readings[1], when, float64(f.heap)/1e6, float64(bound)/1e6)
}
