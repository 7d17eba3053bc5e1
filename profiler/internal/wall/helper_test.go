// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"context"
	"math/rand/v2"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// longest is how long the work of a test becomes at most, before it says that
// it was not sampled.
const longest = 8 * time.Second

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

// span calls f under the labels of a span and returns how long it took.
func span(id string, f func()) time.Duration {
	begin := time.Now()
	pprof.Do(context.Background(), pprof.Labels("span_id", id, "profile_id", id), func(context.Context) { f() })
	return time.Since(begin)
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

// timedSource knows the longest time from the begin of a round to the end of
// the next: by half of that can the time of a span be wrong at either end. Looks that
// were given up are no rounds: nobody visits what they have seen.
type timedSource struct {
	source

	mu      sync.Mutex
	looking time.Time // when the last look began
	begin   time.Time // when the look of the last round did
	widest  time.Duration
}

func (s *timedSource) look() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looking = time.Now()
	return s.source.look()
}

func (s *timedSource) visit(found func([]uintptr, []label, int64)) {
	s.mu.Lock()
	if !s.begin.IsZero() {
		s.widest = max(s.widest, time.Since(s.begin))
	}
	s.begin = s.looking
	s.mu.Unlock()
	s.source.visit(found)
}

func (s *timedSource) error() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.widest, time.Since(s.begin))
}

// round takes one.
func round(s source, found func([]uintptr, []label, int64)) error {
	if err := s.look(); err != nil {
		return err
	}
	s.visit(found)
	return nil
}
