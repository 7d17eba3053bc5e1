// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"context"
	"math/rand/v2"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/looks"
)

// longest is how long the work of a test becomes at most, before it says that
// it was not sampled.
const longest = 32 * time.Second

// doubling plays a scenario, for twice as long each time, until it returns that
// there were samples enough.
func doubling(t *testing.T, scenario func(d time.Duration) bool) {
	t.Helper()
	for d := 100 * time.Millisecond; d <= longest; d *= 2 {
		if scenario(d) {
			return
		}
	}
	t.Fatalf("too few samples in %v", longest)
}

// sources are the ways of taking a round that there are in this build.
func sources() []source {
	all := []source{newPublicSource(false)}
	if s := newSource(false); s.name() != all[0].name() {
		all = append(all, s)
	}
	return all
}

// span calls f under the labels of a span, and returns how long that took at least and at
// most: the goroutine may lose its CPU while it takes the time.
func span(id string, f func()) (least, most time.Duration) {
	begin := time.Now()
	pprof.Do(context.Background(), pprof.Labels("span_id", id, "profile_id", id), func(context.Context) {
		begin := time.Now()
		f()
		least = time.Since(begin)
	})
	return least, time.Since(begin)
}

// samplesOf returns the samples under a span's labels.
func samplesOf(p *profile.Profile, id string) []*profile.Sample {
	return slices.DeleteFunc(slices.Clone(p.Sample), func(s *profile.Sample) bool {
		return !slices.Equal(s.Label["span_id"], []string{id})
	})
}

// sum returns the number and the time of samples.
func sum(samples []*profile.Sample) (count int64, d time.Duration) {
	for _, s := range samples {
		count += s.Value[0]
		d += time.Duration(s.Value[1])
	}
	return count, d
}

// functions returns the functions of a sample, the leaf first.
func functions(s *profile.Sample) []string {
	var names []string
	for _, l := range s.Location {
		for _, line := range l.Line {
			names = append(names, line.Function.Name)
		}
	}
	return names
}

func has(s *profile.Sample, suffix string) bool {
	return slices.ContainsFunc(functions(s), func(f string) bool { return strings.HasSuffix(f, suffix) })
}

// repeatable makes the times between the rounds of s the same whenever a test is run, where
// time is played: how many there are then depends on no chance.
func repeatable(s *Sampler) { s.pacer.random = rand.New(rand.NewPCG(1, 2)).Float64 }

// stopped ends a Sampler whose last window is of no interest.
func stopped(t *testing.T, s *Sampler) {
	t.Helper()
	if _, err := s.Stop(); err != nil {
		t.Error(err)
	}
}

func checked(t *testing.T, p *profile.Profile, err error) *profile.Profile {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	return p
}

// accuracy returns by how much the time of a span in a profile can be more or less than it
// took: at each end by the longest time between looks. It may lack what was unwatched.
func accuracy(p *profile.Profile) (wrong, unwatched time.Duration) {
	l := looks.Parse(p.Comments)
	for _, i := range l.Long { // the longest are there
		wrong = max(wrong, i.Watched+i.Vague)
	}
	for _, g := range l.Gaps {
		unwatched += g.Unwatched
	}
	return 2 * wrong, unwatched
}

// round takes one.
func round(s source, found func([]uintptr, []label, int64)) error {
	if err := s.look(); err != nil {
		return err
	}
	s.visit(found)
	return nil
}
