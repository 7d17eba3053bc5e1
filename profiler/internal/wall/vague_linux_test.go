// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spanprof/spanprof/internal/looks"
)

// slowSource sees the goroutines after a delay, in which its thread has no CPU.
type slowSource struct {
	source
	delays []time.Duration // of the looks to come
}

func (s *slowSource) look() error {
	if len(s.delays) > 0 {
		time.Sleep(s.delays[0])
		s.delays = s.delays[1:]
	}
	return s.source.look()
}

// TestVagueLooksAreGivenUp: a look that cannot tell when it has seen the goroutines is
// taken again, but not for ever, and what was there all the time loses nothing.
func TestVagueLooksAreGivenUp(t *testing.T) {
	// All intervals of so short a time are kept one by one.
	const ms, length = time.Millisecond, 400 * time.Millisecond
	for name, test := range map[string]struct {
		delays  []time.Duration
		givenUp uint64
		vague   time.Duration // of the look that is kept
	}{
		"in time":     {nil, 0, 0},
		"a little":    {[]time.Duration{maxVague}, 0, maxVague},
		"once":        {[]time.Duration{50 * ms}, 1, 0},
		"three times": {[]time.Duration{50 * ms, 40 * ms, 30 * ms}, 3, 0},
		"too often":   {[]time.Duration{50 * ms, 40 * ms, 30 * ms, 60 * ms}, 3, 60 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := &slowSource{source: newSource(false), delays: test.delays}
				s := newSampler(generous, source)
				s.watch.readDelays = nil // time is played
				s.watch.processTime = func() (time.Duration, bool) { return 0, false }
				stop := make(chan struct{})
				go span("all", func() { <-stop })
				synctest.Wait()
				s.Start()
				time.Sleep(length)
				p, err := s.Stop()
				close(stop)
				if _, got := sum(samplesOf(checked(t, p, err), "all")); got != length {
					t.Errorf("the samples make %v, want %v", got, length)
				}
				if st := s.Stats(); st.Skipped != test.givenUp || st.Rounds == 0 {
					t.Errorf("%d looks of %d were given up, want %d", st.Skipped, st.Rounds, test.givenUp)
				}
				var vague time.Duration
				for _, i := range looks.Parse(p.Comments).Long {
					vague = max(vague, i.Vague)
				}
				// The look's own CPU time, which is not played, is taken off.
				if vague > test.vague || (vague > 0) != (test.vague > 0) {
					t.Errorf("a look is vague by %v, want %v at most, less what the look worked", vague, test.vague)
				}
			})
		})
	}
}
