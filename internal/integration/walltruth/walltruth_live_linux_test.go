// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package walltruth

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/loudskip"
)

func TestMain(m *testing.M) {
	done, err := Main()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	case !done:
		os.Exit(m.Run())
	}
}

// TestWallAgreesWithTheProgramsClock compares the wall time of each span with what the
// program has measured itself.
func TestWallAgreesWithTheProgramsClock(t *testing.T) {
	for _, plan := range Plans(3 * time.Second) {
		t.Run(plan.Name, func(t *testing.T) {
			if plan.Goroutines > 0 && os.Getenv("SPANPROF_WALLTRUTH") != "all" {
				loudskip.Test(t, "it takes 20 s to minutes: SPANPROF_WALLTRUTH=all")
			}
			disagreed := 0
			for range runs {
				clock := startClock()
				r, err := Run(t.Context(), plan)
				late := clock.stop()
				if errors.Is(err, ErrNoQuota) {
					loudskip.Test(t, err.Error())
				}
				if err != nil {
					t.Fatal(err)
				}
				report(t, r)
				wrong := r.Wrong()
				if len(wrong) == 0 {
					return
				}
				if late >= starved {
					t.Logf("void, as this process got no CPU for %v at a time: %q", late, wrong)
					continue
				}
				if disagreed++; disagreed == enough {
					t.Fatalf("%d runs disagree, the last by %q", disagreed, wrong)
				}
				t.Logf("by chance or not, this run disagrees: %q", wrong)
			}
			loudskip.Test(t, fmt.Sprintf("of %d runs %d disagree, and the others are void: other work on this machine kept a sleeping goroutine of the test from the CPU for %v or more", runs, disagreed, starved))
		})
	}
}

const (
	// runs is how often a case is run if the machine disturbs it.
	runs = 6
	// enough is how many runs have to disagree. One disagrees by chance in a hundred: each of
	// its five sums is off by more than three standard errors once in 370.
	enough = 3
	// starved is how late a sleeping goroutine of the test wakes on an overloaded machine. The
	// test has no quota and is not stopped. Then the program's clock and its spans
	// disagree, because a span may lose the CPU before it is labelled.
	starved = 20 * time.Millisecond
)

// clock is how late a sleeping goroutine wakes at worst.
type clock struct {
	over  chan struct{}
	worst chan time.Duration
}

func startClock() clock {
	c := clock{make(chan struct{}), make(chan time.Duration)}
	go func() {
		var worst time.Duration
		for {
			const plan = 5 * time.Millisecond
			begin := time.Now()
			select {
			case <-c.over:
				c.worst <- worst
				return
			case <-time.After(plan):
				worst = max(worst, time.Since(begin)-plan)
			}
		}
	}()
	return c
}

func (c clock) stop() time.Duration {
	close(c.over)
	return <-c.worst
}

func report(t *testing.T, r Result) {
	t.Helper()
	for _, s := range r.Outside() {
		t.Logf("%s: %v by %d samples ± %v and %v unwatched, took %v", s.Kind, s.Total, s.Samples, s.Error, s.Unwatched, s.Took)
	}
	for _, s := range r.Sums() {
		t.Logf("%s: %v ± %v and %v unwatched, took %v", s.Kind, s.Total, s.Error, s.Unwatched, s.Took)
	}
	t.Logf("%d spans, of which %d are further off than stated; %d rounds, %v unwatched", len(r.Spans), len(r.Outside()), r.Status.Rounds, r.Status.Unwatched)
}
