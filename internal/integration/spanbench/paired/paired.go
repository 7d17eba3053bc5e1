// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package paired compares what wrappers of tracer providers add to a span.
//
// It runs small batches of each wrapper in turn: the machine's speed drifts by more than
// the measured differences.
package paired

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// Batch is the number of spans timed together: enough for the clock, few enough
// that most batches see no garbage collection.
const Batch = 200

// Candidate runs one span from Start to End.
type Candidate struct {
	Name   string
	Before func() // if not nil, before each batch
	Span   func()

	perSpan []float64 // ns of each round
}

// Scenario is one kind of span. The first candidate is the bare SDK.
type Scenario struct {
	Name       string
	Candidates []*Candidate
	// Goroutines is how many run a batch each at the same time; 0 for the calling one
	// alone.
	Goroutines int
}

// NewTable returns a writer that aligns the columns of tables; Flush it at the
// end. It first writes a line with the Go version, the machine and the batches.
func NewTable(out io.Writer, rounds int) *tabwriter.Writer {
	fmt.Fprintf(out, "%s %s/%s, GOMAXPROCS %d, %d batches of %d spans\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), rounds, Batch)
	return tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
}

// Print runs rounds batches of each candidate and writes the table. Each column compares
// a wrapper with the bare SDK. p10 is the difference between the tenth percentiles of
// their batches: the cost of an undisturbed span. p50 is the median of the differences
// within a round.
func (s Scenario) Print(w io.Writer, rounds int) {
	for round := range rounds {
		for i := range s.Candidates {
			c := s.Candidates[(round+i)%len(s.Candidates)]
			if c.Before != nil {
				c.Before()
			}
			c.perSpan = append(c.perSpan, c.batch(s.Goroutines))
		}
	}
	bare := s.Candidates[0]
	bareAllocs := bare.allocations()
	bareP10 := percentile(bare.perSpan, 10)
	bareBytes := bare.bytes()
	fmt.Fprintf(w, "%s\tp10 ns\tp50 ns\tallocations\tbytes\t\n", s.Name)
	fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f\t%.0f\t\n", bare.Name, bareP10, percentile(bare.perSpan, 50), bareAllocs, bareBytes)
	for _, c := range s.Candidates[1:] {
		deltas := make([]float64, rounds)
		for i := range deltas {
			deltas[i] = c.perSpan[i] - bare.perSpan[i]
		}
		fmt.Fprintf(w, "%s\t%+.0f\t%+.0f\t%+.0f\t%+.0f\t\n", c.Name, percentile(c.perSpan, 10)-bareP10, percentile(deltas, 50), c.allocations()-bareAllocs, c.bytes()-bareBytes)
	}
	fmt.Fprintln(w, "\t\t\t\t\t")
}

// batch runs Batch spans, or parallelBatch on each of n goroutines. It returns the time
// of one span on its core, in nanoseconds.
func (c *Candidate) batch(n int) float64 {
	if n == 0 {
		start := time.Now()
		for range Batch {
			c.Span()
		}
		return float64(time.Since(start).Nanoseconds()) / Batch
	}
	spent := c.together(n, parallelBatch)
	cores := min(n, runtime.GOMAXPROCS(0))
	return float64(spent.Nanoseconds()) * float64(cores) / float64(n*parallelBatch)
}

// parallelBatch is longer than Batch to make the wakeup of goroutines negligible.
const parallelBatch = 5 * Batch

// together runs spans on each of n goroutines. It returns the time from the first start
// to the last end.
func (c *Candidate) together(n, spans int) time.Duration {
	var ready, done sync.WaitGroup
	release := make(chan struct{})
	for range n {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-release
			for range spans {
				c.Span()
			}
		})
	}
	ready.Wait()
	start := time.Now()
	close(release)
	done.Wait()
	return time.Since(start)
}

// Throughput runs spans on n goroutines and returns the spans per second of the fastest
// round.
func (c *Candidate) Throughput(n, rounds int) float64 {
	if c.Before != nil {
		c.Before()
	}
	const spans = 20 * parallelBatch
	fastest := c.together(n, spans)
	for range rounds - 1 {
		fastest = min(fastest, c.together(n, spans))
	}
	return float64(n*spans) / fastest.Seconds()
}

// bytes returns the allocation per span, including background work of its wrapper.
func (c *Candidate) bytes() float64 {
	if c.Before != nil {
		c.Before()
	}
	const spans = 2000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range spans {
		c.Span()
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / spans
}

func (c *Candidate) allocations() float64 {
	if c.Before != nil {
		c.Before()
	}
	return testing.AllocsPerRun(100, c.Span)
}

func percentile(values []float64, p int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)*p/100]
}
