// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// frozen returns a Sampler and what keeps its goroutine from running for d. It must
// be called in a bubble of synctest, where a process takes no CPU time.
func frozen() (s *Sampler, freeze func(d time.Duration)) {
	s = newSampler(generous, newSource(false))
	s.watch.processTime = func() (time.Duration, bool) { return 0, true }
	playCPU(s)
	var next time.Duration
	count := s.goroutines
	s.goroutines = func() int {
		d := next
		next = 0
		time.Sleep(d)
		return count()
	}
	return s, func(d time.Duration) {
		s.mu.Lock()
		next = d
		s.mu.Unlock()
	}
}

// playCPU makes s take no CPU time, as a bubble of synctest plays time: what a look
// really takes depends on the machine and what else it does.
func playCPU(s *Sampler) {
	s.watch.readDelays = nil
	free := func(f func()) time.Duration { f(); return 0 }
	s.measure, s.measureSee = free, free
}

// TestFreezeIsNobodysTime: a span that begins after a freeze does not have it, one
// that was there before has, whichever of its functions it is in then.
func TestFreezeIsNobodysTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, freeze := frozen()
		begin := time.Now()
		s.Start()
		moved, stop := make(chan struct{}), make(chan struct{})
		go span("before", func() {
			<-moved
			<-stop
		})
		time.Sleep(time.Second)
		freeze(5 * time.Second)
		time.Sleep(5 * time.Second) // up to a round's interval more than that
		close(moved)
		go span("after", func() { <-stop })
		time.Sleep(time.Second)
		p, err := s.Stop()
		close(stop)
		total := time.Since(begin)
		checked(t, p, err)
		if _, got := sum(samplesOf(p, "before")); got != total {
			t.Errorf("the span that was there all the time has %v, want %v", got, total)
		}
		const most = time.Second + 3*minInterval/2
		if _, got := sum(samplesOf(p, "after")); got > most || got < time.Second-most/2 {
			t.Errorf("the span of the last second has %v", got)
		}
		st := s.Stats()
		if st.Freezes != 1 || st.Unwatched < 5*time.Second-2*minInterval || st.Unwatched > 5*time.Second {
			t.Errorf("%v in %d freezes were unwatched, want some 5s in one", st.Unwatched, st.Freezes)
		}
	})
}

// heldSource knows when spans have ended, by what their first label says.
type heldSource struct {
	emptySource
	ended map[string]time.Time
}

func (s heldSource) held(labels []label, until time.Time) bool {
	at, ok := s.ended[labels[0].Value]
	return !ok || !until.After(at)
}

// TestSpansOfAFreeze: a span that was open in a freeze has all of the time since the last
// look, also where it ended before the next, and in the next window.
func TestSpansOfAFreeze(t *testing.T) {
	const ms = time.Millisecond
	begin := time.Now()
	at := begin.Add
	// It is frozen from some time in the first 10 ms on, for 500 ms.
	source := heldSource{ended: map[string]time.Time{"ends at the thaw": at(505 * ms), "ended before": at(4 * ms)}}
	before := []string{"goes on", "ends at the thaw", "ended before", "goroutine ended"}
	for name, test := range map[string]struct {
		share func(s *Sampler, find func(ids ...string))
		want  map[string]time.Duration
	}{
		"until a look": {
			func(s *Sampler, find func(ids ...string)) {
				find("goes on", "begins at the thaw")
				s.shareFrozen(at(510 * ms))
			},
			map[string]time.Duration{"goes on": 510 * ms, "ends at the thaw": 510 * ms},
		},
		"until a look in the next window": {
			func(s *Sampler, find func(ids ...string)) {
				s.before = s.table.last
				s.open(begin)
				s.unseen = 500 * ms
				find("goes on", "begins at the thaw")
				s.shareFrozen(at(510 * ms))
			},
			map[string]time.Duration{"goes on": 510 * ms, "ends at the thaw": 510 * ms},
		},
		"until the window's end": {
			func(s *Sampler, _ func(ids ...string)) { s.extendFrozen(at(510 * ms)) },
			map[string]time.Duration{"goes on": 510 * ms, "ends at the thaw": 510 * ms, "goroutine ended": 510 * ms},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSampler(generous, source)
			s.open(begin)
			find := func(ids ...string) {
				for _, id := range ids {
					s.table.add([]uintptr{1}, []label{{Key: "span_id", Value: id}}, 1)
				}
			}
			find(before...)
			s.table.complete()
			s.unseen = 500 * ms
			test.share(s, find)
			got := make(map[string]time.Duration)
			for _, e := range s.table.entries {
				if e.time > 0 {
					got[e.labels[0].Value] = e.time
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
