// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"context"
	"math/rand/v2"
	"os"
	"runtime/pprof"
	"slices"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// sources are the ways of taking a round that there are in this build.
func sources() []source {
	all := []source{newPublicSource()}
	if goruntime.ListsGoroutines() {
		all = append(all, newRuntimeSource())
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

// repeatable makes the times between the rounds of s the same whenever a test is run, where
// time is played: how many there are then depends on no chance.
func repeatable(s *Sampler) { s.pacer.random = rand.New(rand.NewPCG(1, 2)).Float64 }

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

// playCPU makes rounds of s free, because a bubble of synctest plays time.
func playCPU(s *Sampler) {
	free := func(f func()) time.Duration { f(); return 0 }
	s.measure, s.measureSee = free, free
}
