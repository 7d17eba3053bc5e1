// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Walltable prints how far wall profiles agree with a program's own clock, while the
// program is stopped and continued, changes GOMAXPROCS, has a CPU quota, or has 100,000
// goroutines besides: by spanprof, each span and all together, and by fgprof, which knows
// no spans but has the same functions, so that the sums compare. Others that label spans
// have no wall time.
//
// All times are of the sum of eight goroutines; ± is the standard error that the viewer
// states, and unwatched is the time in which nobody looked, as it states that for the
// spans. Outside are the spans that are further off than three standard errors and what
// was unwatched.
//
//	GOWORK=off go -C internal/integration/peers run ./walltable
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/felixge/fgprof"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/integration/walltruth"
)

func main() {
	work := flag.Duration("work", 10*time.Second, "how long the program works in each case")
	only := flag.String("only", "", "the case to measure, all if empty")
	repeat := flag.Int("repeat", 0, "how often to run each case, without the peer, to see how the stated errors hold")
	flag.Parse()
	done, err := walltruth.Main(measure)
	switch {
	case done:
	case *repeat > 0:
		err = runAgain(*work, *only, *repeat)
	default:
		err = run(*work, *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// measure is fgprof.
func measure() func() (map[string]time.Duration, error) {
	var b bytes.Buffer
	stop := fgprof.Start(&b, fgprof.FormatPprof)
	return func() (map[string]time.Duration, error) {
		if err := stop(); err != nil {
			return nil, err
		}
		p, err := profile.Parse(&b)
		if err != nil {
			return nil, err
		}
		took := make(map[string]time.Duration)
		for _, s := range p.Sample {
			if f := function(s); f != "" {
				took[f] += time.Duration(s.Value[len(s.Value)-1])
			}
		}
		return took, nil
	}
}

// function returns that of the spans' work in a stack.
func function(s *profile.Sample) string {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if _, name, ok := strings.Cut(line.Function.Name, "walltruth.work"); ok && name != "" {
				return name
			}
		}
	}
	return ""
}

func run(work time.Duration, only string) error {
	fmt.Printf("%s %s/%s, GOMAXPROCS %d\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tspans\town clock s\tspanprof s\tunwatched s\trounds\toutside\tsums\town clock s\tfgprof s\t")
	var notes []string
	for _, plan := range walltruth.Plans(work) {
		if only != "" && plan.Name != only {
			continue
		}
		fmt.Fprintln(os.Stderr, plan.Name, "...")
		r, err := walltruth.Run(context.Background(), plan)
		if errors.Is(err, walltruth.ErrNoQuota) {
			notes = append(notes, fmt.Sprintf("%s: not shown: %v", plan.Name, err))
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", plan.Name, err)
		}
		plan.Peer = true
		peer, err := walltruth.Run(context.Background(), plan)
		if err != nil {
			return fmt.Errorf("%s, fgprof: %w", plan.Name, err)
		}
		var fg time.Duration
		for _, d := range peer.Peer {
			fg += d
		}
		all, theirs := r.Sums()[0], peer.Sums()[0]
		wrong := r.Wrong()
		verdict := "agree"
		if len(wrong) > 0 {
			verdict = "DIFFER"
		}
		for _, text := range wrong {
			notes = append(notes, plan.Name+": "+text)
		}
		fmt.Fprintf(w, "%s\t%d\t%.2f\t%.2f ± %.2f\t%.2f\t%d\t%d\t%s\t%.2f\t%.2f\t\n", plan.Name, len(r.Spans), all.Took.Seconds(),
			all.Total.Seconds(), all.Error.Seconds(), all.Unwatched.Seconds(), r.Status.Rounds, len(r.Outside()), verdict, theirs.Took.Seconds(), fg.Seconds())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(notes) > 0 {
		fmt.Printf("\n%s\n", strings.Join(notes, "\n"))
	}
	return nil
}

// runAgain prints how many standard errors the wall times are off, by repetition: the sum
// of all spans, the sums of the kinds, and the share of spans that are off by more than
// two. What was unwatched may be missing, and is no error.
func runAgain(work time.Duration, only string, n int) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tspans\town clock s\tspanprof s\tunwatched s\tfreezes\trounds\toff by errors\tkinds\tspans beyond 2\tbeyond 3\t")
	for _, plan := range walltruth.Plans(work) {
		if only != "" && plan.Name != only {
			continue
		}
		for range n {
			r, err := walltruth.Run(context.Background(), plan)
			if err != nil {
				return fmt.Errorf("%s: %w", plan.Name, err)
			}
			sums := r.Sums()
			kinds := make([]string, len(sums)-1)
			for i, s := range sums[1:] {
				kinds[i] = fmt.Sprintf("%+.1f", s.Off())
			}
			all := sums[0]
			fmt.Fprintf(w, "%s\t%d\t%.2f\t%.2f ± %.2f\t%.2f\t%d\t%d\t%+.1f\t%s\t%.1f %%\t%.1f %%\t\n", plan.Name, len(r.Spans), all.Took.Seconds(), all.Total.Seconds(), all.Error.Seconds(),
				all.Unwatched.Seconds(), r.Status.Freezes, r.Status.Rounds, all.Off(), strings.Join(kinds, " "), 100*r.Beyond(2), 100*r.Beyond(3))
		}
	}
	return w.Flush()
}
