// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/internal/looks"
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

// TestSpansOfAFreeze: a span that was open in a freeze has it, also where it ended before
// the next look, and in the next window. The other time is shared as ever.
func TestSpansOfAFreeze(t *testing.T) {
	const ms = time.Millisecond
	begin := time.Now()
	at := begin.Add
	// Looks are 510 ms apart. The process was to wake after 10 ms, and was frozen then.
	source := heldSource{ended: map[string]time.Time{"ends at the thaw": at(505 * ms), "ended before": at(4 * ms)}}
	before := []string{"goes on", "ends at the thaw", "ended before", "goroutine ended"}
	for name, test := range map[string]struct {
		share func(s *Sampler, find func(ids ...string))
		want  map[string]time.Duration
	}{
		"until a look": {
			func(s *Sampler, find func(ids ...string)) {
				find("goes on", "begins at the thaw")
				s.share(at(510 * ms))
			},
			map[string]time.Duration{
				"goes on": 510 * ms, "ends at the thaw": 495*ms + 5*ms, "ended before": 5 * ms, "goroutine ended": 5 * ms,
				"begins at the thaw": 5 * ms,
			},
		},
		"until a look in the next window": {
			func(s *Sampler, find func(ids ...string)) {
				s.before = s.table.last
				s.open(begin)
				s.freezes = []freeze{{at(10 * ms), at(510 * ms), 500 * ms}}
				find("goes on", "begins at the thaw")
				s.share(at(510 * ms))
			},
			map[string]time.Duration{"goes on": 510 * ms, "ends at the thaw": 495 * ms, "begins at the thaw": 10 * ms},
		},
		"until the window's end": {
			func(s *Sampler, _ func(ids ...string)) { s.close(at(510 * ms)) },
			map[string]time.Duration{
				"goes on": 510 * ms, "ends at the thaw": 495*ms + 10*ms, "ended before": 10 * ms, "goroutine ended": 510 * ms,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, find := opened(source, begin)
			find(before...)
			s.table.complete()
			s.freezes = []freeze{{at(10 * ms), at(510 * ms), 500 * ms}}
			test.share(s, find)
			if diff := cmp.Diff(test.want, times(s)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// opened returns a Sampler whose window begins at a time, and what has a round find spans.
func opened(source source, begin time.Time) (s *Sampler, find func(ids ...string)) {
	s = newSampler(generous, source)
	s.open(begin)
	return s, func(ids ...string) {
		for _, id := range ids {
			s.table.add([]uintptr{1}, []label{{Key: "span_id", Value: id}}, 1)
		}
	}
}

// times returns what spans have in the table.
func times(s *Sampler) map[string]time.Duration {
	got := make(map[string]time.Duration)
	for _, e := range s.table.entries {
		if e.time > 0 {
			got[e.labels[0].Value] = e.time
		}
	}
	return got
}

// TestAFreezeInALongInterval takes none of it but the freeze from anybody.
func TestAFreezeInALongInterval(t *testing.T) {
	const ms = time.Millisecond
	begin := time.Now()
	at := begin.Add
	source := heldSource{ended: map[string]time.Time{"ends after it": at(1500 * ms), "ends in one": at(3100 * ms)}}
	s, find := opened(source, begin)
	find("goes on", "ends after it", "ends in one")
	s.table.complete()
	s.addFreeze(freeze{at(1000 * ms), at(1300 * ms), 300 * ms}, at(1300*ms))
	s.addFreeze(freeze{at(3000 * ms), at(3600 * ms), 500 * ms}, at(3600*ms))
	find("goes on", "begins after them")
	s.share(at(4800 * ms))
	want := map[string]time.Duration{
		"goes on": 4800 * ms, "ends after it": 2000*ms + 300*ms, "ends in one": 2000*ms + 400*ms, "begins after them": 2000 * ms,
	}
	if diff := cmp.Diff(want, times(s)); diff != "" {
		t.Error(diff)
	}
	s.addLooks(at(4800*ms), at(4700*ms))
	for _, test := range []struct{ from, until, want time.Duration }{
		{0, 4800 * ms, 800 * ms},
		{1200 * ms, 2000 * ms, 100 * ms},
		{1300 * ms, 3000 * ms, 0},
		{3600 * ms, 4800 * ms, 0},
	} {
		if got := s.looks.Unwatched(at(test.from), at(test.until)); got != test.want {
			t.Errorf("from %v until %v nobody looked for %v, want %v", test.from, test.until, got, test.want)
		}
	}
	if got := s.looks.Long; len(got) != 1 || got[0].Watched != 4000*ms || got[0].Late != 100*ms {
		t.Errorf("the interval is %+v, want one of 4s whose look was late by 100ms", got)
	}
}

// TestAFreezeIsWhereItWas, however long before the next look.
func TestAFreezeIsWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, freeze := frozen()
		s.pacer.budget = 0.01
		s.measure = func(f func()) time.Duration { f(); return 50 * time.Millisecond }
		s.Start()
		time.Sleep(10 * time.Second) // the first looks tell what they cost
		if _, err := s.Rotate(); err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		freeze(700 * time.Millisecond)
		time.Sleep(2 * time.Second) // the sampler wakes once a second at least
		after := time.Now()
		time.Sleep(20 * time.Second)
		p, err := s.Stop()
		gaps := looks.Parse(checked(t, p, err).Comments).Gaps
		if len(gaps) != 1 || gaps[0].Unwatched != 700*time.Millisecond || gaps[0].Until.Sub(gaps[0].From) != 700*time.Millisecond ||
			gaps[0].From.Before(before) || gaps[0].Until.After(after) {
			t.Errorf("the gaps are %+v, want one of 700ms between %v and %v", gaps, before, after)
		}
	})
}

// TestDearWindowWithoutALook: samples that would cost what looks need are not made.
func TestDearWindowWithoutALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window = 10 * time.Second
		begin := time.Now()
		s := newSampler(generous, plannedSource{spans: map[string][2]time.Time{"goes on": {begin, begin.Add(time.Hour)}}})
		playCPU(s)
		s.watch.processTime = func() (time.Duration, bool) { return 0, true }
		s.Start()
		for i, want := range []int{1, 0} {
			time.Sleep(window)
			synctest.Wait()
			s.mu.Lock()
			s.perItem = generous * float64(window) // a sample, twice what a window may spend
			s.mu.Unlock()
			p, err := s.Rotate()
			if got := len(checked(t, p, err).Sample); got != want {
				t.Errorf("window %d has %d samples, want %d", i, got, want)
			}
			s.mu.Lock()
			s.pacer.spend(time.Hour) // no look can be paid for
			s.mu.Unlock()
		}
		if _, err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestWindowsWithoutALook: where none can be paid for, spans that the last look has found
// go on until they end.
func TestWindowsWithoutALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window = 10 * time.Second
		begin := time.Now()
		source := plannedSource{spans: map[string][2]time.Time{
			"goes on":      {begin, begin.Add(time.Hour)},
			"ends":         {begin, begin.Add(window + 4*time.Second)},
			"ended before": {begin, begin.Add(window - time.Second)},
			"begins":       {begin.Add(window + time.Second), begin.Add(3*window - time.Second)},
		}}
		s := newSampler(generous, source)
		playCPU(s)
		s.watch.processTime = func() (time.Duration, bool) { return 0, true }
		s.Start()
		var rounds uint64
		for i, want := range []map[string]time.Duration{
			{"goes on": window, "ends": window, "ended before": window - time.Second},
			{"goes on": window, "ends": 4 * time.Second},
			{"goes on": window},
			{"goes on": window},
		} {
			time.Sleep(window)
			synctest.Wait()
			got := make(map[string]time.Duration)
			p, err := s.Rotate()
			for _, sample := range checked(t, p, err).Sample {
				// Where there are looks, to half of the time between two.
				got[sample.Label["span_id"][0]] += time.Duration(sample.Value[1]).Round(20 * time.Millisecond)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("window %d: %s", i, diff)
			}
			var unwatched time.Duration
			if i == 1 || i == 2 {
				unwatched = window
			}
			if got := looks.Parse(p.Comments).Unwatched(begin, time.Now()); got != unwatched {
				t.Errorf("window %d: nobody looked for %v, want %v", i, got, unwatched)
			}
			s.mu.Lock()
			switch i {
			case 0:
				rounds = s.Stats().Rounds
				s.pacer.spend(time.Hour)
			case 2:
				if got := s.Stats(); got.Rounds != rounds || got.Unwatched != 2*window {
					t.Errorf("%d rounds, then %d, with %v unwatched", rounds, got.Rounds, got.Unwatched)
				}
				s.pacer.spend(-time.Hour)
			}
			s.mu.Unlock()
		}
		stopped(t, s)
	})
}

// plannedSource finds spans from one time until another, and knows when they end.
type plannedSource struct {
	emptySource
	spans map[string][2]time.Time
}

func (s plannedSource) visit(found func([]uintptr, []label, int64)) {
	now := time.Now()
	for id, open := range s.spans {
		if !now.Before(open[0]) && now.Before(open[1]) {
			found([]uintptr{1}, []label{{Key: "span_id", Value: id}}, 1)
		}
	}
}

func (s plannedSource) held(labels []label, until time.Time) bool {
	return !until.After(s.spans[labels[0].Value][1])
}
