// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"math/rand/v2"
	"time"
)

const (
	// minInterval is the shortest mean time between rounds. CPU profilers also take a hundred
	// samples a second.
	minInterval = 10 * time.Millisecond
	// firstInterval is the longest mean time to the first round, which shows the real cost.
	firstInterval = time.Second
	// reserve is for how long the budget can be saved, unless one round needs more. The
	// savings and the income of a minute are at most one and a half times its budget. The rest
	// to twice the budget is for rounds that cost more than predicted.
	reserve = 30 * time.Second
	// maxSaving is for how long the budget is saved for one round at most. With a hundredth
	// of a core that is a round of 6 s, of some millions of goroutines.
	maxSaving = 10 * time.Minute
	// pace is the planned part of the budget. The rest is a reserve for expensive rounds.
	pace = 0.9
	// priorFactor is how many times too high a source's priorCost may be. A guess gives up
	// rounds only if this part of it is too high as well.
	priorFactor = 3
	// overhead is the cost of a round besides the goroutines, as a number of goroutines.
	overhead = 50
	// waking is the cost of a round outside of it: a timer wakes a thread, and the runtime
	// starts threads that look for work. It cannot be separated from the program's work. An
	// otherwise idle process on a virtual machine had 110 to 150 us.
	waking = 150 * time.Microsecond
)

// pacer decides when a round is taken, so that the cost keeps to a budget. A round may be
// taken when its probable cost has been saved.
type pacer struct {
	budget float64 // share of a core
	random func() float64

	// mean is the cost of a round for each goroutine in ns, for the time between rounds.
	// high is the cost of expensive rounds, which must have been saved.
	mean, high float64
	learned    bool // they are measured, and no guess

	credit float64 // saved budget in ns; debt if negative
	at     time.Time
	last   time.Time // of the last round, taken or skipped
	factor float64   // of the mean interval, for the next round
}

// newPacer returns a pacer with full savings: the first round may be of any number of
// goroutines.
func newPacer(budget, unit float64, now time.Time) *pacer {
	p := &pacer{budget: budget, random: rand.Float64, mean: unit, high: unit, at: now}
	p.credit = budget * float64(reserve)
	p.restart(now)
	return p
}

// restart begins a new interval. Its length varies by half to either side. So rounds do not run
// in step with the program.
func (p *pacer) restart(now time.Time) {
	p.last = now
	p.factor = 0.5 + p.random()
}

// postpone is restart after the budget did not allow a round with n goroutines. The interval
// is at most a little longer than saving for it takes.
func (p *pacer) postpone(now time.Time, n int) {
	p.restart(now)
	if lack := cost(p.high, n) - p.credit; lack > 0 {
		p.factor = min(p.factor, (lack/p.budget+float64(minInterval))/float64(p.interval(n)))
	}
}

// wait returns the time until the next round with n goroutines is due. It is 0 or negative
// if the round is due.
func (p *pacer) wait(now time.Time, n int) time.Duration {
	interval := p.interval(n)
	if !p.learned {
		interval = min(interval, firstInterval)
	}
	return time.Duration(float64(interval)*p.factor) - now.Sub(p.last)
}

// interval returns the mean time between rounds with n goroutines. If even maxSaving does not
// pay for one, it is the time between two attempts.
func (p *pacer) interval(n int) time.Duration {
	interval := cost(p.mean, n) / (pace * p.budget)
	if interval > float64(maxSaving) {
		return reserve
	}
	return max(minInterval, time.Duration(interval))
}

// cost returns the cost of a round with n goroutines, in ns, if each costs unit.
func cost(unit float64, n int) float64 { return float64(waking) + unit*float64(n+overhead) }

// allow reports whether the budget allows a round with n goroutines now. The first needs the
// full reserve at most: its cost is a guess, and the pacer must measure it.
func (p *pacer) allow(now time.Time, n int) bool {
	p.earn(now, n)
	if !p.learned && cost(p.high/priorFactor, n) <= pace*p.budget*float64(maxSaving) { // the budget ever allows it
		return min(cost(p.high, n), p.budget*float64(reserve)) <= p.credit
	}
	return cost(p.high, n) <= p.credit
}

// spend takes a cost from the savings.
func (p *pacer) spend(cost time.Duration) { p.credit -= float64(cost) }

// learn corrects the predictions by the cost of a round with n goroutines, without waking.
func (p *pacer) learn(n int, cost time.Duration) {
	unit := float64(cost) / float64(n+overhead)
	if !p.learned {
		p.mean, p.high, p.learned = unit, unit, true
		return
	}
	p.mean += (unit - p.mean) / 4
	// A garbage collection, for example, makes one of many rounds expensive.
	p.high = max(unit, p.high+(unit-p.high)/32)
}

// earn adds the budget since its last call. A little more than the cost of a round with n
// goroutines can always be saved.
func (p *pacer) earn(now time.Time, n int) {
	p.credit += p.budget * float64(now.Sub(p.at))
	most := max(float64(reserve)*p.budget, min(1.1*cost(p.high, n), float64(maxSaving)*p.budget))
	p.credit = min(p.credit, most)
	p.at = now
}
