// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/looks"
)

// poll is how often the number of goroutines is looked at, at least.
const poll = time.Second

// sparse is the longest mean time between rounds that is not worth a word.
const sparse = 10 * time.Second

// Sampler takes rounds from Start to Stop. Start, Rotate and Stop must not be
// called at the same time; Stats may be called at any.
type Sampler struct {
	// What tests replace.
	measure    func(func()) time.Duration // CPU time of a call
	goroutines func() int

	stop chan struct{} // closed by Stop; nil when stopped
	done chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex // held for a round: that is how Rotate waits for it
	source  source
	pacer   *pacer
	watch   *watch
	table   *table
	looks   looks.Looks   // at what intervals table was filled
	opened  time.Time     // when table was
	from    time.Time     // until when all is counted: the last round, or opened
	unseen  time.Duration // of the time since then, by what watch noticed
	before  sets          // what the last round found before table was opened
	both    sets          // and what it found of the one before, if the process was frozen in its midst
	perItem float64       // cost of an entry of table when it becomes a sample, in ns
	prepaid time.Duration // what rounds have paid for the entries of table
	err     error         // of a round; Rotate returns it
	told    bool          // that rounds are sparse

	statsMu sync.Mutex
	stats   Stats
	recent  recent
}

// New returns a Sampler that takes up to budget of a core. It looks at the
// goroutines of spans, or at all.
func New(budget float64, all bool) *Sampler { return newSampler(budget, newSource(all)) }

func newSampler(budget float64, s source) *Sampler {
	now := time.Now()
	return &Sampler{
		measure:    measure,
		goroutines: runtime.NumGoroutine,
		source:     s,
		pacer:      newPacer(budget, s.priorCost(), now),
		watch:      newWatch(now),
		perItem:    2000, // about three times what it is, like priorCost
		stats:      Stats{Source: s.name()},
	}
}

// Start begins to take rounds.
func (s *Sampler) Start() {
	now := time.Now()
	s.mu.Lock()
	s.open(now)
	s.before = nil
	s.both = nil
	s.pacer.restart(now)
	s.watch.notice(now) // of what was before, which is nobody's
	s.watch.plan(0)
	s.mu.Unlock()
	s.count(func(st *Stats) { s.recent = recent{marks: []mark{{now, st.Rounds, st.CPU}}} })
	s.stop, s.done = make(chan struct{}), make(chan struct{})
	go s.run(s.stop, s.done)
}

// open begins a table.
func (s *Sampler) open(now time.Time) {
	s.table, s.opened, s.from, s.unseen = newTable(), now, now, 0
	s.looks = looks.Looks{}
	s.prepaid, s.err = 0, nil
}

// Rotate returns the profile of what was found since Start or the last Rotate.
// The error, which can come with a profile, is why rounds have failed, or are rare.
//
// The time after the last round is counted for what that has found, so that what was
// there all the time has all of it. A profile without a round has nothing: Rotate
// takes one if it can be paid for.
func (s *Sampler) Rotate() (*profile.Profile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.goroutines()
	now := time.Now()
	s.notice(now)
	if s.pacer.wait(now, n) <= 0 || s.table.rounds == 0 {
		s.attempt(now, n)
	}
	now = time.Now()
	t, opened, prepaid, err := s.table, s.opened, s.prepaid, s.err
	if t.rounds > 0 {
		s.before = s.lastFound()
		t.extend(now.Sub(s.from) - s.unseen)
	} else {
		s.unseen = now.Sub(s.from)
	}
	s.looks.Add(s.from, now, s.unseen)
	unseen, intervals := s.unseen, s.looks
	s.both = nil
	s.open(now)

	var p *profile.Profile
	cost := s.measure(func() {
		p = build(s.source, t, opened, now.Sub(opened))
		p.Comments = []string{intervals.Comment()}
	})
	s.pacer.spend(cost - prepaid)
	s.count(func(st *Stats) {
		st.CPU += cost
		st.Unwatched += unseen
	})
	s.perItem += (float64(cost)/float64(len(t.entries)+overhead) - s.perItem) / 4
	return p, err
}

// Stop ends taking rounds. It returns what Rotate does, and nil before Start
// and after Stop.
func (s *Sampler) Stop() (*profile.Profile, error) {
	if s.stop == nil {
		return nil, nil
	}
	close(s.stop)
	<-s.done
	s.stop = nil
	return s.Rotate()
}

// Stats returns what has been done.
func (s *Sampler) Stats() Stats {
	s.statsMu.Lock()
	defer s.statsMu.Unlock()
	st := s.stats
	st.Rate, st.Share = s.recent.until(mark{time.Now(), st.Rounds, st.CPU})
	return st
}

func (s *Sampler) count(f func(*Stats)) {
	s.statsMu.Lock()
	defer s.statsMu.Unlock()
	f(&s.stats)
}

func (s *Sampler) run(stop <-chan struct{}, done chan<- struct{}) {
	defer close(done)
	// It has inherited labels, and works for no span.
	pprof.SetGoroutineLabels(context.Background())
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			timer.Reset(s.turn())
		case <-stop:
			return
		}
	}
}

// notice finds out whether the process was frozen since the last round.
func (s *Sampler) notice(now time.Time) {
	s.unseen = min(s.unseen+s.frozen(now), now.Sub(s.from))
}

// frozen returns for how long the process was frozen since it was asked last.
func (s *Sampler) frozen(now time.Time) time.Duration {
	d := s.watch.notice(now)
	if d > 0 {
		s.count(func(st *Stats) { st.Freezes++ })
	}
	return d
}

// lastFound returns what was found before what nobody saw since.
func (s *Sampler) lastFound() sets {
	switch {
	case s.both != nil:
		return s.both
	case s.table.rounds > 0:
		return s.table.lastFound()
	}
	return s.before
}

// turn takes a round if one is due, and returns when to look again.
func (s *Sampler) turn() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.goroutines()
	now := time.Now()
	s.notice(now)
	if s.pacer.wait(now, n) <= 0 {
		s.attempt(now, n)
	}
	var interval time.Duration
	if s.pacer.affordable(n) {
		interval = s.pacer.interval(n)
	}
	s.tell(n, interval)
	s.count(func(st *Stats) {
		st.Interval = interval
		s.recent.add(mark{now, st.Rounds, st.CPU})
	})
	next := max(0, min(poll, s.pacer.wait(time.Now(), n)))
	s.watch.plan(next)
	return next
}

// tell has Rotate say once that rounds are rare.
func (s *Sampler) tell(n int, interval time.Duration) {
	if s.told || interval > 0 && interval <= sparse || interval > 0 && !s.pacer.learned {
		return
	}
	s.told = true
	each := time.Duration(cost(s.pacer.mean, n))
	if interval == 0 {
		s.err = errors.Join(s.err, fmt.Errorf("a look at the stacks of %d goroutines takes some %v of CPU, for which %.3g %% of a core is never enough: set a larger budget", n, each.Round(time.Millisecond), 100*s.pacer.budget))
		return
	}
	s.err = errors.Join(s.err, fmt.Errorf("a look at the stacks of %d goroutines takes %v of CPU, so that with %.3g %% of a core there is one in %v: short spans are hardly ever seen; set a larger budget for more", n, each.Round(time.Millisecond), 100*s.pacer.budget, interval.Round(time.Second)))
}

// attempt takes a round if that can be paid for.
func (s *Sampler) attempt(now time.Time, n int) {
	if !s.pacer.allow(now, n) {
		s.count(func(st *Stats) { st.Skipped++ })
		s.pacer.postpone(now, n)
		return
	}
	s.round(now, n)
	s.pacer.restart(now)
}

// round takes one. The goroutines that it finds have been where they are since the
// last: on average over rounds that is true. It is not while the process was frozen:
// what it finds then may have begun since. Goroutines that are in the span in which
// they were before have been in it all the time.
func (s *Sampler) round(now time.Time, n int) {
	var samples, dropped uint64
	var err error
	var frozen time.Duration
	var earlier sets
	seen := now
	before := len(s.table.entries)
	cost := s.measure(func() {
		// The goroutines are seen when the world has stopped, which may take
		// long on a busy machine. From then on the look takes CPU time.
		cpu := measure(func() { err = s.source.look() })
		end := time.Now()
		if at := end.Add(-cpu); at.After(now) {
			seen = at
		}
		if err != nil {
			return
		}
		if frozen = s.frozen(end); frozen > 0 {
			// Whether before or after it has seen the goroutines is not
			// known. The next round decides.
			seen, earlier = now, s.lastFound()
		}
		w := s.weigh(seen)
		s.source.visit(func(stack []uintptr, labels []label, count int64) {
			if s.table.add(stack, labels, count, w) {
				samples += uint64(count)
			} else {
				dropped += uint64(count)
			}
		})
	})
	unseen := s.unseen
	if err != nil {
		s.err = errors.Join(s.err, err)
	} else {
		s.looks.Add(s.from, seen, s.unseen)
		s.from, s.unseen = seen, frozen
		s.table.rounds++
		s.both = nil
		if frozen > 0 {
			s.both = earlier.and(s.table.lastFound())
		}
	}
	// What becomes of the entries at the end of the window is paid for now,
	// so that a window with many does not end in a debt.
	later := time.Duration(s.perItem * float64(len(s.table.entries)-before))
	s.prepaid += later
	s.pacer.spend(waking + cost + later)
	s.pacer.learn(n, cost+later)
	s.count(func(st *Stats) {
		st.CPU += waking + cost
		st.Samples += samples
		st.Dropped += dropped
		if err == nil {
			st.Rounds++
			st.Unwatched += unseen
		}
	})
}

// weigh returns what a round counts that sees the goroutines at a time.
func (s *Sampler) weigh(at time.Time) weight {
	since := at.Sub(s.from)
	unseen := min(s.unseen, since)
	w := weight{watched: since - unseen, unwatched: unseen}
	if s.unseen > 0 {
		w.before = s.lastFound()
	}
	return w
}
