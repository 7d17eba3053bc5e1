// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"context"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/google/pprof/profile"
)

// poll is how often the number of goroutines is looked at, at least.
const poll = time.Second

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
	table   *table
	opened  time.Time     // when table was
	last    time.Time     // the last round, or Start
	perItem float64       // cost of an entry of table when it becomes a sample, in ns
	prepaid time.Duration // what rounds have paid for the entries of table
	err     error         // of a round; Rotate returns it

	statsMu sync.Mutex
	stats   Stats
	recent  recent
}

// New returns a Sampler that takes up to budget of a core. It looks at the
// goroutines of spans, or at all.
func New(budget float64, all bool) *Sampler { return newSampler(budget, newSource(all)) }

func newSampler(budget float64, s source) *Sampler {
	return &Sampler{
		measure:    measure,
		goroutines: runtime.NumGoroutine,
		source:     s,
		pacer:      newPacer(budget, s.priorCost(), time.Now()),
		perItem:    2000, // about three times what it is, like priorCost
		stats:      Stats{Source: s.name()},
	}
}

// Start begins to take rounds.
func (s *Sampler) Start() {
	now := time.Now()
	s.mu.Lock()
	s.table, s.opened, s.last = newTable(), now, now
	s.pacer.restart(now)
	s.mu.Unlock()
	s.count(func(st *Stats) { s.recent = recent{marks: []mark{{now, st.Rounds, st.CPU}}} })
	s.stop, s.done = make(chan struct{}), make(chan struct{})
	go s.run(s.stop, s.done)
}

// Rotate returns the profile of what was found since Start or the last Rotate.
// The error, which can come with a profile, is why rounds have failed.
func (s *Sampler) Rotate() (*profile.Profile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	t, opened, prepaid, err := s.table, s.opened, s.prepaid, s.err
	s.table, s.opened, s.prepaid, s.err = newTable(), now, 0, nil

	var p *profile.Profile
	cost := s.measure(func() { p = build(s.source, t, opened, now.Sub(opened)) })
	s.pacer.spend(cost - prepaid)
	s.count(func(st *Stats) { st.CPU += cost })
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

// turn takes a round if one is due, and returns when to look again.
func (s *Sampler) turn() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, n := time.Now(), s.goroutines()
	if s.pacer.wait(now, n) <= 0 {
		if s.pacer.allow(now, n) {
			s.round(now, n)
		} else {
			s.count(func(st *Stats) { st.Skipped++ })
		}
		s.pacer.restart(now)
	}
	var interval time.Duration
	if s.pacer.affordable(n) {
		interval = s.pacer.interval(n)
	}
	s.count(func(st *Stats) {
		st.Interval = interval
		s.recent.add(mark{now, st.Rounds, st.CPU})
	})
	return max(0, min(poll, s.pacer.wait(time.Now(), n)))
}

// round takes one. The goroutines that it finds have been where they are since
// the last: on average over rounds that is true.
func (s *Sampler) round(now time.Time, n int) {
	since := now.Sub(s.last)
	var samples, dropped uint64
	var err error
	before := len(s.table.entries)
	cost := s.measure(func() {
		err = s.source.round(func(stack []uintptr, labels []label, count int64) {
			if s.table.add(stack, labels, count, since) {
				samples += uint64(count)
			} else {
				dropped += uint64(count)
			}
		})
	})
	if err != nil {
		s.err = err
	} else {
		s.last = now
		s.table.rounds++
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
		}
	})
}
