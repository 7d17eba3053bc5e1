// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spanprof/spanprof/internal/looks"
)

// slowSource sees the goroutines after lookTime and a delay, in which its thread has no CPU.
type slowSource struct {
	source
	delays []time.Duration // of the looks to come
}

// lookTime keeps two looks from being at one time, as no real ones are.
const lookTime = time.Microsecond

func (s *slowSource) look() error {
	time.Sleep(lookTime)
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
		vague   time.Duration // of the look that is kept, but for lookTime
	}{
		"in time":     {nil, 0, 0},
		"a little":    {[]time.Duration{maxVague - lookTime}, 0, maxVague - lookTime},
		"once":        {[]time.Duration{50 * ms}, 1, 0},
		"three times": {[]time.Duration{50 * ms, 40 * ms, 30 * ms}, 3, 0},
		"too often":   {[]time.Duration{50 * ms, 40 * ms, 30 * ms, 60 * ms}, 3, 60 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := &slowSource{source: newSource(false), delays: test.delays}
				s := newSampler(generous, source)
				playCPU(s)
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
				if vague -= lookTime; vague != test.vague {
					t.Errorf("a look is vague by %v, want %v", vague, test.vague)
				}
			})
		})
	}
}
