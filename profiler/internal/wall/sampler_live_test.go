// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package wall

import (
	"fmt"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/livetest"
)

// enough is how many samples a span must have before a test looks at them: few, as a busy
// machine allows no more.
const enough = 3

// Running goroutines and system calls have their time. Other waits are the same in a bubble:
// TestWeightsSumToTheTime has their time, TestSourcesAgree their stacks.
func TestSpansHaveTheTimeThatTheyTook(t *testing.T) {
	for _, source := range sources() {
		t.Run(source.name(), func(t *testing.T) {
			for name, take := range outsideOfBubbles {
				t.Run(name, func(t *testing.T) {
					s := newSampler(generous, source)
					s.Start()
					defer stopped(t, s)
					livetest.Doubling(t, 100*time.Millisecond, func(d time.Duration) string {
						before := s.Stats().Unwatched
						least, most := span(name, func() { take(d) })
						p, err := s.Rotate()
						samples := samplesOf(checked(t, p, err), name)
						count, got := sum(samples)
						if few := livetest.Few(count, enough, "samples"); few != "" {
							return few
						}
						unwatched := s.Stats().Unwatched - before
						if wrong := accuracy(p); got < least-wrong-unwatched || got > most+wrong {
							t.Errorf("the samples make %v, want %v to %v by up to %v more or less, with %v unwatched", got, least, most, wrong, unwatched)
						}
						var told time.Duration
						for _, sample := range samples {
							if has(sample, name) {
								told += time.Duration(sample.Value[1])
							}
						}
						// On a busy machine the rest of the span takes long, too.
						if told < got/2 {
							return fmt.Sprintf("got %v of %v below %s, want half; there are %q", told, got, name, functions(samples[0]))
						}
						return ""
					})
				})
			}
		})
	}
}

// outsideOfBubbles are ways to take some time, by the function.
var outsideOfBubbles = map[string]func(d time.Duration){"wall.compute": compute}

// compute does not wait.
//
//go:noinline
func compute(d time.Duration) {
	for begin, n := time.Now(), 0; time.Since(begin) < d; {
		for range 100_000 {
			n++
		}
	}
}
