// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// batchSpans is the number of spans timed together: enough for the clock, few enough
// that most batches see no garbage collection.
const batchSpans = 200

// candidate runs one span from Start to End.
type candidate struct {
	name   string
	before func() // if not nil, before each batch
	span   func()
}

// scenario is one kind of span. The first candidate is the bare SDK.
type scenario struct {
	name       string
	candidates []candidate
	// goroutines is how many run a batch each at the same time; 0 for the calling one
	// alone.
	goroutines int
}

// print runs rounds batches of each candidate and writes the table. Each column compares
// a wrapper with the bare SDK. p10 is the difference between the tenth percentiles of
// their batches: the cost of an undisturbed span. p50 is the median of the differences
// within a round. The batches of candidates take turns, because the machine's speed drifts
// by more than the measured differences.
func (s scenario) print(w io.Writer, rounds int) {
	perSpan := make([][]float64, len(s.candidates)) // ns of each round
	for round := range rounds {
		for i := range s.candidates {
			which := (round + i) % len(s.candidates)
			c := s.candidates[which]
			c.prepare()
			perSpan[which] = append(perSpan[which], c.batch(s.goroutines))
		}
	}
	bare := s.candidates[0]
	bareP10, bareAllocs := percentile(perSpan[0], 10), bare.allocations()
	fmt.Fprintf(w, "%s\tp10 ns\tp50 ns\tallocations\t\n", s.name)
	fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f\t\n", bare.name, bareP10, percentile(perSpan[0], 50), bareAllocs)
	for i, c := range s.candidates[1:] {
		own, deltas := perSpan[i+1], make([]float64, rounds)
		for round := range deltas {
			deltas[round] = own[round] - perSpan[0][round]
		}
		fmt.Fprintf(w, "%s\t%+.0f\t%+.0f\t%+.0f\t\n", c.name, percentile(own, 10)-bareP10, percentile(deltas, 50), c.allocations()-bareAllocs)
	}
	fmt.Fprintln(w, "\t\t\t\t")
}

func (c candidate) prepare() {
	if c.before != nil {
		c.before()
	}
}

// batch runs batchSpans spans, or parallelBatch on each of n goroutines. It returns the time
// of one span on its core, in nanoseconds.
func (c candidate) batch(n int) float64 {
	if n == 0 {
		start := time.Now()
		for range batchSpans {
			c.span()
		}
		return float64(time.Since(start).Nanoseconds()) / batchSpans
	}
	spent := c.together(n, parallelBatch)
	cores := min(n, runtime.GOMAXPROCS(0))
	return float64(spent.Nanoseconds()) * float64(cores) / float64(n*parallelBatch)
}

// parallelBatch is longer than batchSpans to make the wakeup of goroutines negligible.
const parallelBatch = 5 * batchSpans

// together runs spans on each of n goroutines. It returns the time from the first start
// to the last end.
func (c candidate) together(n, spans int) time.Duration {
	var ready, done sync.WaitGroup
	release := make(chan struct{})
	for range n {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-release
			for range spans {
				c.span()
			}
		})
	}
	ready.Wait()
	start := time.Now()
	close(release)
	done.Wait()
	return time.Since(start)
}

// throughput returns the spans per second of 8 goroutines on some cores. It is the fastest
// of five rounds.
func (c candidate) throughput(cores int) float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	const n, spans = 8, 20 * parallelBatch
	fastest := c.together(n, spans)
	for range 4 {
		fastest = min(fastest, c.together(n, spans))
	}
	return n * spans / fastest.Seconds()
}

func (c candidate) allocations() float64 {
	c.prepare()
	return testing.AllocsPerRun(100, c.span)
}

func percentile(values []float64, p int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)*p/100]
}
