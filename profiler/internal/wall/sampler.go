// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"runtime"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/looks"
)

// Sampler takes rounds from Start to Stop. Start, Rotate and Stop must not be
// called at the same time; Stats may be called at any.
type Sampler struct {
	// What tests replace.
	measure    func(func()) time.Duration // CPU time of a round or a build
	measureSee func(func()) time.Duration // CPU time of seeing the goroutines, within a round
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
	blur    time.Duration // how much earlier that may have been
	freezes []freeze      // of the process since then
	before  []found       // what the last round found before table was opened
	vague   int           // how many looks in a row were given up, see round
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
		measureSee: measure,
		goroutines: runtime.NumGoroutine,
		source:     s,
		pacer:      newPacer(budget, s.priorCost(), now),
		watch:      newWatch(budget, now),
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
	s.pacer.restart(now)
	s.watch.restart() // what was before is nobody's
	s.mu.Unlock()
	s.count(func(st *Stats) { s.recent = recent{marks: []mark{{now, st.Rounds, st.CPU}}} })
	s.stop, s.done = make(chan struct{}), make(chan struct{})
	go s.run(s.stop, s.done)
}

// open begins a table.
func (s *Sampler) open(now time.Time) {
	s.table, s.opened, s.from, s.blur, s.freezes = newTable(), now, now, 0, nil
	s.looks = looks.Looks{}
	s.prepaid, s.err = 0, nil
}

// Rotate returns the profile of what was found since Start or the last Rotate.
// The error, which can come with a profile, is why rounds have failed, or are rare.
//
// The time after the last round is counted for what that has found, so that what was
// there all the time has all of it. Rotate takes a round where there was none, if it can be
// paid for. A profile without any has what is known to go on since the last.
func (s *Sampler) Rotate() (*profile.Profile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.goroutines()
	now := time.Now()
	s.notice(now)
	if s.pacer.wait(now, n) <= 0 || s.table.rounds == 0 {
		for s.attempt(now, n) && s.table.rounds == 0 {
			now = time.Now()
		}
	}
	now = time.Now()
	t, prepaid, err := s.table, s.prepaid, s.err
	var unseen time.Duration
	var p *profile.Profile
	cost := s.measure(func() {
		unseen = s.close(now)
		p = build(s.source, t, s.opened, now.Sub(s.opened))
		p.Comments = []string{s.looks.Comment()}
	})
	s.open(now)
	s.pacer.spend(cost - prepaid)
	s.count(func(st *Stats) {
		st.CPU += cost
		st.Unwatched += unseen
	})
	s.perItem += (float64(cost)/float64(len(t.entries)+overhead) - s.perItem) / 4
	return p, err
}

// close counts the time since the last round, and returns for how much of it nobody looked.
func (s *Sampler) close(now time.Time) (unseen time.Duration) {
	rest := now.Sub(s.from)
	if s.table.rounds == 0 {
		s.extendBefore(now)
		s.looks.AddGap(s.from, now, rest)
		return rest
	}
	unseen = s.unseen()
	extend(s.table.last, rest-unseen)
	s.extendFrozen()
	s.before = s.table.last
	s.addLooks(now, s.from) // all counts for one of its ends
	return unseen
}

// addLooks tells s.looks of the time since the last round, until a look that was due at a
// time.
func (s *Sampler) addLooks(now, due time.Time) {
	late := now.Sub(due)
	for _, f := range s.freezes {
		s.looks.AddGap(f.at, f.until, f.d)
		late -= min(f.d, max(0, f.until.Sub(due)))
	}
	s.looks.Add(s.from, now, s.unseen(), late, s.blur)
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
	goruntime.ClearLabels()
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

// notice finds out whether the process was frozen since it was asked last.
func (s *Sampler) notice(now time.Time) {
	f, spent := s.frozen()
	s.pacer.spend(spent)
	s.count(func(st *Stats) { st.CPU += spent })
	s.addFreeze(f, now)
}

// frozen returns the freeze of the process since it was asked last, and what it has cost to
// know.
func (s *Sampler) frozen() (f freeze, spent time.Duration) {
	f = s.watch.notice()
	spent, s.watch.spent = s.watch.spent, 0
	if f.d > 0 {
		s.count(func(st *Stats) { st.Freezes++ })
	}
	return f, spent
}
