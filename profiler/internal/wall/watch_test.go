// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWatch(t *testing.T) {
	const ms = time.Millisecond
	type wake struct{ planned, elapsed, cpu time.Duration }
	for name, test := range map[string]struct {
		before []wake // to which no freeze belongs
		wake   wake
		want   time.Duration
	}{
		"in time":                  {nil, wake{10 * ms, 10 * ms, 0}, 0},
		"somewhat late":            {nil, wake{10 * ms, 109 * ms, 0}, 0},
		"early":                    {nil, wake{10 * ms, ms, 0}, 0},
		"frozen":                   {nil, wake{10 * ms, 2010 * ms, 0}, 2000 * ms},
		"frozen in a busy time":    {nil, wake{10 * ms, 2010 * ms, 10 * ms}, 1990 * ms},
		"the process took the CPU": {nil, wake{10 * ms, 100 * ms, 95 * ms}, 0},
		"on eight cores":           {[]wake{{10 * ms, 10 * ms, 80 * ms}}, wake{10 * ms, 200 * ms, 80 * ms}, 180 * ms},
		"eight cores, all late":    {[]wake{{10 * ms, 10 * ms, 80 * ms}}, wake{10 * ms, 50 * ms, 400 * ms}, 0},
		"slow, for a quota":        {nil, wake{10 * ms, 300 * ms, 60 * ms}, 0},
		"by two, after one":        {[]wake{{10 * ms, 4 * ms, 0}}, wake{6 * ms, 206 * ms, 0}, 200 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			var cpu time.Duration
			now := time.Now()
			w := newWatch(now)
			w.cpu, w.processTime = 0, func() (time.Duration, bool) { return cpu, true }
			for _, one := range test.before {
				w.plan(one.planned)
				now, cpu = now.Add(one.elapsed), cpu+one.cpu
				if got := w.notice(now); got != 0 {
					t.Errorf("a freeze of %v before", got)
				}
			}
			if name != "by two, after one" { // where the rest of the plan holds
				w.plan(test.wake.planned)
			}
			now, cpu = now.Add(test.wake.elapsed), cpu+test.wake.cpu
			if got := w.notice(now); got != test.want {
				t.Errorf("frozen for %v, want %v", got, test.want)
			}
		})
	}
}

func TestWatchWithoutClock(t *testing.T) {
	now := time.Now()
	w := newWatch(now)
	w.processTime = func() (time.Duration, bool) { return 0, false }
	for _, test := range []struct{ late, want time.Duration }{{999 * time.Millisecond, 0}, {2 * time.Second, 2 * time.Second}} {
		w.plan(time.Second)
		now = now.Add(time.Second + test.late)
		if got := w.notice(now); got != test.want {
			t.Errorf("%v late: frozen for %v, want %v", test.late, got, test.want)
		}
	}
}

// frozen returns a Sampler and what keeps its goroutine from running for d. It must
// be called in a bubble of synctest, where a process takes no CPU time.
func frozen() (s *Sampler, freeze func(d time.Duration)) {
	s = newSampler(generous, newSource(false))
	s.watch.processTime = func() (time.Duration, bool) { return 0, true }
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
