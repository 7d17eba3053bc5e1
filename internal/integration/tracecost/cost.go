// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exectrace"
)

const ballastBytes = 100 << 20

// cost is what requests took with and without a recorder.
type cost struct {
	ratios         []float64 // of CPU a request, of each pair
	without, with  time.Duration
	bytesPerSecond int64
	counts         map[string]uint64
}

// slowRequest is how long a request of every slowEvery takes: it is slow to a recorder.
const (
	slowRequest = 50 * time.Millisecond
	slowEvery   = 200 * time.Millisecond
)

func measureCost(pairs int, segment time.Duration, workers int, budget float64) (*cost, error) {
	ballast := make([]byte, ballastBytes)
	defer runtime.KeepAlive(ballast)
	s, err := newService()
	if err != nil {
		return nil, err
	}
	c := &cost{counts: map[string]uint64{}}
	if _, _, err := s.serve(segment/4, workers); err != nil { // so that the first pair is as warm as the others
		return nil, err
	}
	for range pairs {
		var each [2]time.Duration // without, with
		first := rand.IntN(2)
		for _, on := range []int{first, 1 - first} {
			if each[on], err = c.part(s, segment, workers, budget, on == 1); err != nil {
				return nil, err
			}
		}
		c.ratios = append(c.ratios, float64(each[1])/float64(each[0]))
		c.without += each[0] / time.Duration(pairs)
		c.with += each[1] / time.Duration(pairs)
	}
	return c, nil
}

// part serves for a time and returns the CPU time of a request.
func (c *cost) part(s *service, segment time.Duration, workers int, budget float64, on bool) (time.Duration, error) {
	runtime.GC()
	if !on {
		_, each, err := s.serve(segment, workers)
		return each, err
	}
	r, err := exectrace.Start(s.tp, s.store, exectrace.WithBudget(budget), exectrace.WithThreshold(slowRequest))
	if err != nil {
		return 0, err
	}
	_, each, err := s.serve(segment, workers)
	c.bytesPerSecond = max(c.bytesPerSecond, r.Status().BytesPerSecond)
	for name, n := range r.Counters() {
		c.counts[strings.TrimPrefix(name, "exact times: ")] += n
	}
	if stopped := r.Shutdown(context.Background()); err == nil {
		err = stopped
	}
	return each, err
}

func (c *cost) report() string {
	mean, half := interval(c.ratios)
	var b strings.Builder
	fmt.Fprintf(&b, "CPU of a request, %d pairs: %.3f ms without, %.3f ms with a recorder: x%.4f (95 %%: %.4f to %.4f)\n",
		len(c.ratios), ms(c.without), ms(c.with), mean, mean-half, mean+half)
	fmt.Fprintf(&b, "at most %.0f kB of trace a second", float64(c.bytesPerSecond)/1e3)
	for _, name := range []string{"recordings read", "spans with exact times", "slow spans not read for the budget", "pauses for the budget"} {
		fmt.Fprintf(&b, ", %d %s", c.counts[name], name)
	}
	return b.String() + "\n"
}

// interval returns the mean and half of its 95 % interval.
func interval(list []float64) (mean, half float64) {
	for _, x := range list {
		mean += x / float64(len(list))
	}
	var squares float64
	for _, x := range list {
		squares += (x - mean) * (x - mean)
	}
	if n := float64(len(list)); n > 1 {
		half = 1.96 * math.Sqrt(squares/(n-1)/n)
	}
	return mean, half
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
