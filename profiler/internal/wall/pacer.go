// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"math/rand/v2"
	"time"
)

const (
	// minInterval is the mean time between rounds when the budget would
	// allow more. A hundred a second is what CPU profilers take.
	minInterval = 10 * time.Millisecond
	// firstInterval is the longest mean time to the first round, which tells
	// what rounds really cost.
	firstInterval = time.Second
	// reserve is how long the budget can be saved, unless one round needs
	// more. What is saved and what comes in add up to at most one and a half
	// times the budget over a minute. The rest to twice the budget is for
	// rounds that cost more than predicted: by up to half a minute's budget
	// together.
	reserve = 30 * time.Second
	// maxSaving is how long the budget is saved for one round at most. With a
	// hundredth of a core that is a round of 6 s, of some millions of goroutines.
	maxSaving = 10 * time.Minute
	// pace is the part of the budget that rounds are planned to take, so
	// that a reserve grows for those that cost more than others.
	pace = 0.9
	// priorFactor is how many times too high a source's priorCost may be. No
	// number of goroutines is given up for such a guess before it is divided
	// by this.
	priorFactor = 3
	// overhead is what a round costs besides that for each goroutine: as
	// much as for so many more.
	overhead = 50
	// waking is what a round costs outside of it: for a timer to wake a
	// thread, and for the threads that the runtime then starts to look
	// for work. It cannot be told from what the program does, so it is
	// set down at what it was found to be in a process that does nothing
	// else, on a virtual machine: 110 to 150 us.
	waking = 150 * time.Microsecond
)

// pacer decides when a round is taken, so that their cost keeps to a budget. A
// round may be taken when what it may well cost has been saved.
type pacer struct {
	budget float64 // share of a core
	random func() float64

	// What a round costs for each goroutine, in ns: on average, by which the
	// time between rounds is planned, and when it costs much, which must
	// have been saved.
	mean, high float64
	learned    bool // they are measured, and no guess

	credit float64 // what may be spent, in ns; debt if negative
	at     time.Time
	last   time.Time // when a round was last taken or skipped
	factor float64   // of the mean interval, for the round to come
}

// newPacer returns a pacer that has saved all it can: for the first round, which may
// be of any number of goroutines.
func newPacer(budget, unit float64, now time.Time) *pacer {
	p := &pacer{budget: budget, random: rand.Float64, mean: unit, high: unit, at: now}
	p.credit = budget * float64(reserve)
	p.restart(now)
	return p
}

// restart begins a new interval. Its length varies by half to either side, so
// that rounds do not run in step with what the program does at regular times.
func (p *pacer) restart(now time.Time) {
	p.last = now
	p.factor = 0.5 + p.random()
}

// postpone is restart after a round with n goroutines that could not be paid for.
// It does not wait longer than it takes to save for it, and a little more.
func (p *pacer) postpone(now time.Time, n int) {
	p.restart(now)
	if lack := cost(p.high, n) - p.credit; lack > 0 {
		p.factor = min(p.factor, (lack/p.budget+float64(minInterval))/float64(p.interval(n)))
	}
}

// wait returns the time until the next round is due with n goroutines, which
// is not positive when it is.
func (p *pacer) wait(now time.Time, n int) time.Duration {
	interval := p.interval(n)
	if !p.learned {
		interval = min(interval, firstInterval)
	}
	return time.Duration(float64(interval)*p.factor) - now.Sub(p.last)
}

// interval returns the mean time between rounds with n goroutines. Where even
// maxSaving does not pay for one, it is the time between two attempts.
func (p *pacer) interval(n int) time.Duration {
	interval := cost(p.mean, n) / (pace * p.budget)
	if interval > float64(maxSaving) {
		return reserve
	}
	return max(minInterval, time.Duration(interval))
}

// affordable reports whether rounds with n goroutines can be paid for at all.
func (p *pacer) affordable(n int) bool {
	unit := p.high
	if !p.learned {
		unit /= priorFactor
	}
	return cost(unit, n) <= pace*p.budget*float64(maxSaving)
}

// cost returns what a round with n goroutines costs, in ns, if each costs unit.
func cost(unit float64, n int) float64 { return float64(waking) + unit*float64(n+overhead) }

// allow reports whether a round with n goroutines can be paid for. The first may be
// taken with what can be saved for any: its cost is not known, and the pacer would
// never learn it if it relied on a guess.
func (p *pacer) allow(now time.Time, n int) bool {
	p.earn(now, n)
	if !p.learned && p.affordable(n) {
		return min(cost(p.high, n), p.budget*float64(reserve)) <= p.credit
	}
	return cost(p.high, n) <= p.credit
}

// spend takes a cost from what has been saved.
func (p *pacer) spend(cost time.Duration) { p.credit -= float64(cost) }

// learn corrects the predictions by what a round with n goroutines cost, without
// waking.
func (p *pacer) learn(n int, cost time.Duration) {
	unit := float64(cost) / float64(n+overhead)
	if !p.learned {
		p.mean, p.high, p.learned = unit, unit, true
		return
	}
	p.mean += (unit - p.mean) / 4
	// A garbage collection, for example, makes one of many rounds dear.
	p.high = max(unit, p.high+(unit-p.high)/32)
}

// earn adds what has come in since its last call. A little more than what a round
// with n goroutines needs can always be saved, so that there is one at all.
func (p *pacer) earn(now time.Time, n int) {
	p.credit += p.budget * float64(now.Sub(p.at))
	most := max(float64(reserve)*p.budget, min(1.1*cost(p.high, n), float64(maxSaving)*p.budget))
	p.credit = min(p.credit, most)
	p.at = now
}
