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

// TestTheOnlyLookOfAWindow is taken again, where it is given up.
func TestTheOnlyLookOfAWindow(t *testing.T) {
	const ms, length = time.Millisecond, 5 * time.Millisecond
	for _, delays := range [][]time.Duration{{50 * ms, 40 * ms}, {50 * ms, 50 * ms, 50 * ms, 50 * ms, 50 * ms}} {
		synctest.Test(t, func(t *testing.T) {
			s := newSampler(generous, &slowSource{source: newSource(false), delays: delays})
			playCPU(s)
			s.watch.processTime = func() (time.Duration, bool) { return 0, false }
			stop := make(chan struct{})
			go span("all", func() { <-stop })
			synctest.Wait()
			begin := time.Now()
			s.open(begin)
			time.Sleep(length)
			p, err := s.Rotate()
			took := time.Since(begin)
			close(stop)
			if _, got := sum(samplesOf(checked(t, p, err), "all")); got != took {
				t.Errorf("the samples make %v, want %v", got, took)
			}
			if st, most := s.Stats(), uint64(min(len(delays), maxGivenUp)); st.Rounds != 1 || st.Skipped != most || st.Unwatched != 0 {
				t.Errorf("%d looks after %d that were given up, and %v unwatched; want one after %d", st.Rounds, st.Skipped, st.Unwatched, most)
			}
		})
	}
}

// readingSource has the watch read in each look.
type readingSource struct {
	emptySource
	read func()
}

func (s readingSource) look() error {
	s.read()
	return nil
}

// TestReadingsArePaidOnce: what it costs to tell a freeze within a look is part of what the
// look takes, and says nothing of what goroutines cost.
func TestReadingsArePaidOnce(t *testing.T) {
	const ms, n = time.Millisecond, 950
	var s *Sampler
	s = newSampler(generous, readingSource{read: func() { s.watch.spent += 5 * ms }})
	playCPU(s)
	s.measure = func(f func()) time.Duration {
		f()
		return 7 * ms
	}
	now := time.Now()
	s.open(now)
	credit := s.pacer.credit
	s.round(now, n)
	if got, want := s.Stats().CPU, waking+7*ms; got != want {
		t.Errorf("a look has cost %v, want %v", got, want)
	}
	if got := credit - s.pacer.credit; got != float64(waking+7*ms) {
		t.Errorf("a look has taken %v of the budget, want %v", time.Duration(got), waking+7*ms)
	}
	if got, want := s.pacer.mean, float64(2*ms)/(n+overhead); got != want {
		t.Errorf("a goroutine costs %v ns, want %v", got, want)
	}
}
