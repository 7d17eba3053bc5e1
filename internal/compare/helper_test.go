// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/compare"
)

const period = 10 * time.Millisecond

// cpu builds a CPU profile.
type cpu struct {
	p    *profile.Profile
	locs map[string]*profile.Location
}

func newCPU() *cpu {
	return &cpu{
		p: &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
			PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
			Period:     period.Nanoseconds(),
		},
		locs: map[string]*profile.Location{},
	}
}

// add adds samples of a stack, the root first: "main > load > parse".
func (c *cpu) add(stack string, samples int64, labels ...string) {
	c.values(stack, []int64{samples, samples * period.Nanoseconds()}, labels...)
}

func (c *cpu) values(stack string, values []int64, labels ...string) {
	s := &profile.Sample{Value: values, Label: map[string][]string{}}
	for name := range strings.SplitSeq(stack, " > ") {
		loc := c.locs[name]
		if loc == nil {
			f := &profile.Function{ID: uint64(len(c.p.Function) + 1), Name: name}
			loc = &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
			c.p.Function, c.p.Location = append(c.p.Function, f), append(c.p.Location, loc)
			c.locs[name] = loc
		}
		s.Location = append([]*profile.Location{loc}, s.Location...)
	}
	for i := 0; i < len(labels); i += 2 {
		s.Label[labels[i]] = append(s.Label[labels[i]], labels[i+1])
	}
	c.p.Sample = append(c.p.Sample, s)
}

// of returns the profile as one of a kind and a duration.
func (c *cpu) of(kind exporter.Kind, d time.Duration) *exporter.Profile {
	return exporter.NewParsedProfile(exporter.Window{Kind: kind, Duration: d}, c.p)
}

func add(t testing.TB, s *compare.Side, run string, p *exporter.Profile) {
	t.Helper()
	if err := s.Add(run, p); err != nil {
		t.Fatal(err)
	}
}

func result(t testing.TB, before, after *compare.Side) *compare.Result {
	t.Helper()
	r, err := compare.Compare(before, after)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// function returns the row of a function.
func function(t testing.TB, r *compare.Result, name string) compare.Function {
	t.Helper()
	for _, f := range r.Functions {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no row for %s in %+v", name, r.Functions)
	return compare.Function{}
}

// program is forty functions with samples like a service: in clusters, because a request
// stays in a function for a while. Each run differs a bit, on a machine that is now faster and
// now slower.
type program struct {
	random *rand.Rand
	// samples is the mean number in a run.
	samples float64
}

// run is one run, in which a function takes more by a part. f00 takes 30 % of the CPU.
func (p program) run(slow string, by float64) *cpu {
	c := newCPU()
	machine := math.Exp(p.random.NormFloat64() * 0.01)
	share := 0.3
	for i := range 40 {
		name := fmt.Sprintf("f%02d", i)
		mean := p.samples * share * machine * math.Exp(p.random.NormFloat64()*0.01)
		if share *= 0.93; i == 0 {
			share = 0.052
		}
		if name == slow {
			mean *= 1 + by
		}
		n := int64(0)
		const cluster = 2 // samples of a request, on average
		for range p.poisson(mean / cluster) {
			for n++; p.random.IntN(cluster) > 0; n++ {
			}
		}
		if n > 0 {
			c.add(fmt.Sprintf("main > handler%d > %s", i%5, name), n)
		}
	}
	return c
}

func (p program) poisson(mean float64) int {
	n := 0
	for sum := p.random.ExpFloat64(); sum < mean; sum += p.random.ExpFloat64() {
		n++
	}
	return n
}

func (p program) side(t testing.TB, runs int, slow string, by float64) *compare.Side {
	s := compare.NewSide("")
	for i := range runs {
		add(t, s, strconv.Itoa(i), p.run(slow, by).of(exporter.KindCPU, time.Minute))
	}
	return s
}

// profileOf returns what a profiler makes in a minute.
func profileOf(parse, render int64) *exporter.Profile {
	c := newCPU()
	c.add("main > parse", parse)
	c.add("main > render", render)
	return c.of(exporter.KindCPU, time.Minute)
}
