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
	// reserve is how long the budget can be saved. What is saved and what
	// comes in add up to at most one and a half times the budget over a
	// minute. The rest to twice the budget is for rounds that cost more
	// than predicted: by up to half a minute's budget together.
	reserve = 30 * time.Second
	// pace is the part of the budget that rounds are planned to take, so
	// that a reserve grows for those that cost more than others.
	pace = 0.9
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

	credit float64 // what may be spent, in ns; debt if negative
	at     time.Time
	last   time.Time // when a round was last taken or skipped
	factor float64   // of the mean interval, for the round to come
}

func newPacer(budget, unit float64, now time.Time) *pacer {
	p := &pacer{budget: budget, random: rand.Float64, mean: unit, high: unit, at: now}
	p.credit = budget * float64(time.Second) // so that the first rounds need not wait
	p.restart(now)
	return p
}

// restart begins a new interval. Its length varies by half to either side, so
// that rounds do not run in step with what the program does at regular times.
func (p *pacer) restart(now time.Time) {
	p.last = now
	p.factor = 0.5 + p.random()
}

// wait returns the time until the next round is due with n goroutines, which
// is not positive when it is.
func (p *pacer) wait(now time.Time, n int) time.Duration {
	interval := p.interval(n).Seconds() * p.factor
	return time.Duration(interval*float64(time.Second)) - now.Sub(p.last)
}

// interval returns the mean time between rounds with n goroutines. It is not
// longer than what can be saved for: who cannot pay then never can.
func (p *pacer) interval(n int) time.Duration {
	return max(minInterval, time.Duration(min(cost(p.mean, n)/(pace*p.budget), float64(reserve))))
}

// affordable reports whether rounds with n goroutines can be paid for at all.
func (p *pacer) affordable(n int) bool { return cost(p.high, n) <= p.budget*float64(reserve) }

// cost returns what a round with n goroutines costs, in ns, if each costs unit.
func cost(unit float64, n int) float64 { return float64(waking) + unit*float64(n+overhead) }

// allow reports whether a round with n goroutines can be paid for.
func (p *pacer) allow(now time.Time, n int) bool {
	p.earn(now)
	return cost(p.high, n) <= p.credit
}

// spend takes a cost from what has been saved.
func (p *pacer) spend(cost time.Duration) { p.credit -= float64(cost) }

// learn corrects the predictions by what a round with n goroutines cost, without
// waking.
func (p *pacer) learn(n int, cost time.Duration) {
	unit := float64(cost) / float64(n+overhead)
	p.mean += (unit - p.mean) / 4
	// A garbage collection, for example, makes one of many rounds dear.
	p.high = max(unit, p.high+(unit-p.high)/32)
}

// earn adds what has come in since its last call.
func (p *pacer) earn(now time.Time) {
	p.credit += p.budget * float64(now.Sub(p.at))
	p.credit = min(p.credit, p.budget*float64(reserve))
	p.at = now
}
