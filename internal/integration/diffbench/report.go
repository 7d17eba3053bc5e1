// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/compare"
)

// report compares the sides of every round and writes what was flagged and found: with
// all replicas, and with three.
func (c campaign) report(w io.Writer) error {
	fmt.Fprintf(w, "%d rounds, %d replicas a side, %d requests each\n", c.rounds, c.replicas, c.job.requests)
	for _, n := range slices.Compact([]int{c.replicas, 3}) {
		if err := c.reportWith(w, n); err != nil {
			return err
		}
	}
	return nil
}

func (c campaign) reportWith(w io.Writer, replicas int) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\nwith %d a side\tsamples a run\ttested\tflagged\tby two proportions\t%s\tinterval\tq\tfound\tdetectable\tof the median\t\n", replicas, c.job.slow)
	var tested, flagged, plain, plainOf, found int
	for round := 1; round <= c.rounds; round++ {
		a, err := c.side(round, "a", replicas)
		if err != nil {
			return err
		}
		b, err := c.side(round, "b", replicas)
		if err != nil {
			return err
		}
		slow, err := c.side(round, "slow", replicas)
		if err != nil {
			return err
		}
		same, err := compare.Compare(a.Side, b.Side, compare.PerRequest)
		if err != nil {
			return err
		}
		planted, err := compare.Compare(a.Side, slow.Side, compare.PerRequest)
		if err != nil {
			return err
		}
		moved := 0
		for _, f := range same.Functions {
			if f.Moved {
				moved++
				fmt.Fprintf(os.Stderr, "round %d: flagged %s: %+v %+v\n", round, f.Name, f.Total.Test, f.Self.Test)
			}
		}
		tested, flagged = tested+same.Tested, flagged+moved
		flaggedPlain, of := twoProportions(a.merged, b.merged)
		plain, plainOf = plain+flaggedPlain, plainOf+of
		f := function(planted, "main."+c.job.slow)
		if f.Total.Test == nil {
			return fmt.Errorf("main.%s has too few samples", c.job.slow)
		}
		if f.Moved {
			found++
		}
		fmt.Fprintf(t, "round %d\t%.0f\t%d\t%d\t%d of %d\t%+.1f%%\t%+.1f to %+.1f%%\t%.5f\t%v\t%+.1f%%\t%+.1f%%\t\n", round, same.Before.Samples/float64(replicas), same.Tested, moved, flaggedPlain, of,
			percent(f.Total.Ratio), percent(f.Total.Test.Low), percent(f.Total.Test.High), f.Total.Test.Q, f.Moved, percent(f.Total.Test.Detectable), percent(median(planted)))
	}
	fmt.Fprintf(t, "all\t\t%d\t%d = %.1f%%\t%.1f%%\t\t\t\t%d of %d\t\t\t\n", tested, flagged, 100*float64(flagged)/float64(tested), 100*float64(plain)/float64(plainOf), found, c.rounds)
	return t.Flush()
}

// side is what some processes did, for both ways of comparing.
type side struct {
	*compare.Side
	merged *profile.Profile
}

func (c campaign) side(round int, name string, replicas int) (side, error) {
	s := side{Side: compare.NewSide(compare.Selection{})}
	var all []*profile.Profile
	for replica := range replicas {
		files, err := filepath.Glob(filepath.Join(c.job.dir, strconv.Itoa(round), name, strconv.Itoa(replica+1), "*.pprof.gz"))
		if err != nil {
			return s, err
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return s, err
			}
			p, err := profile.ParseData(data)
			if err != nil {
				return s, fmt.Errorf("%s: %w", file, err)
			}
			all = append(all, p)
			window := exporter.Window{Kind: exporter.KindCPU, Start: time.Unix(0, p.TimeNanos), Duration: time.Duration(p.DurationNanos)}
			if err := s.Add(strconv.Itoa(replica), exporter.NewParsedProfile(window, p)); err != nil {
				return s, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	if err := s.SetWork(float64(c.job.requests)); err != nil {
		return s, err
	}
	var err error
	s.merged, err = profile.Merge(all)
	return s, err
}

func function(r *compare.Result, name string) compare.Function {
	i := slices.IndexFunc(r.Functions, func(f compare.Function) bool { return f.Name == name })
	if i < 0 {
		return compare.Function{Name: name}
	}
	return r.Functions[i]
}

// median returns the change that can be detected in the median function.
func median(r *compare.Result) float64 {
	var all []float64
	for _, f := range r.Functions {
		if f.Total.Test != nil {
			all = append(all, f.Total.Test.Detectable)
		}
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func percent(ratio float64) float64 { return 100 * (ratio - 1) }

// twoProportions tests every function as if each sample had come by itself, which is how
// profiles are often compared: two proportions, p at most 5 %. It counts the functions
// with at least as many samples as compare tests.
func twoProportions(a, b *profile.Profile) (flagged, tested int) {
	ofA, totalA := samplesOf(a)
	ofB, totalB := samplesOf(b)
	names := map[string]bool{}
	for name := range ofA {
		names[name] = true
	}
	for name := range ofB {
		names[name] = true
	}
	for name := range names {
		both := ofA[name] + ofB[name]
		if both < 100 {
			continue
		}
		tested++
		p := both / (totalA + totalB)
		z := (ofB[name]/totalB - ofA[name]/totalA) / math.Sqrt(p*(1-p)*(1/totalA+1/totalB))
		if math.Erfc(math.Abs(z)/math.Sqrt2) <= 0.05 {
			flagged++
		}
	}
	return flagged, tested
}

// samplesOf counts the samples that have a function on their stack.
func samplesOf(p *profile.Profile) (by map[string]float64, total float64) {
	by = map[string]float64{}
	for _, s := range p.Sample {
		on := map[string]bool{}
		for _, l := range s.Location {
			for _, line := range l.Line {
				on[line.Function.Name] = true
			}
		}
		for name := range on {
			by[name] += float64(s.Value[0])
		}
		total += float64(s.Value[0])
	}
	return by, total
}
