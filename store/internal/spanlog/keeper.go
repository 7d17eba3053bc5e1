// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"cmp"
	"math/bits"
	"slices"
	"time"
)

// keeper has the records that outlive the newest ones for a name, or for all names
// that have no keeper of their own: extremes, and examples of each latency.
type keeper struct {
	// extremes are by the places that they are for: slowest, sampled, hungriest.
	extremes [extremesLen]extremes
	// examples are the newest records with samples, by latency.
	examples [latencies]rowID
	// seen counts the spans, and last is when the newest ended, in nanoseconds
	// since 1970.
	seen uint32
	last int64
}

// extremes are the records with the greatest values, in no order.
type extremes struct {
	rows []rowID
	// least is the smallest value among them, or less: values grow.
	least int64
}

// places are the lists in which a record is kept.
type places uint8

const (
	// slow: the slowest of a name. sampled: the slowest with CPU samples.
	// hungry: those with most CPU time.
	slow places = 1 << iota
	sampled
	hungry
	// example: the newest of its latency. lastError: among the last of its type of
	// errors.
	example
	lastError

	extremesLen = 3
)

const (
	// latencies is the number of latencies that a name has examples of: up to
	// 1 ms, up to 4 ms and so on.
	latencies = 8
	// exampleAge is how old an example is before a newer one replaces it, so that
	// they are not all of one burst.
	exampleAge = int64(time.Minute)
	// exampleRank and idleAge: examples leave as the fifth slowest does, and one
	// that has seen no new spans for so long counts less.
	exampleRank = 4
	idleAge     = int64(6 * time.Hour)
	// maxIdleRanks bounds how much less.
	maxIdleRanks = 4
	// minEvidence is how many spans a name has before it takes the place of
	// another one.
	minEvidence = 4
)

// NoRank is the rank of what is not kept for longer than its windows.
const NoRank = 1 << 20

func value(of int, r *Row) int64 {
	switch places(1) << of {
	case hungry:
		return int64(r.CPU)
	default:
		return r.Duration
	}
}

// latency returns which example a record may be.
func latency(duration int64) int {
	// 2^20 ns are about a millisecond.
	return min(latencies-1, (bits.Len64(uint64(max(0, duration))>>20)+1)/2)
}

// offer enters an ended record among those of its name that are kept for longer, where
// it belongs there.
func (l *Log) offer(id rowID) {
	r := l.row(id)
	k := l.nameOf(r).keeper
	if k == nil || r.Running() || r.list == passedList {
		return
	}
	// On the request path nearly all are not among the slowest.
	if x := &k.extremes[0]; r.Duration > x.least || len(x.rows) < l.perName {
		l.offerFor(k, id, 0)
	}
	if r.CPUCount == 0 {
		return
	}
	for of := 1; of < extremesLen; of++ {
		l.offerFor(k, id, of)
	}
	l.offerExample(k, id)
	l.offerError(id)
}

// offerFor is offer for one list of extremes.
func (l *Log) offerFor(k *keeper, id rowID, of int) {
	r, place := l.row(id), places(1)<<of
	if r.places&place != 0 {
		return
	}
	in, out := l.keep(&k.extremes[of], id, of)
	if in {
		r.places |= place
	}
	if out != 0 {
		l.leave(out, place)
	}
}

// keep enters a record if there is room, or one with a smaller value, which then
// goes out.
func (l *Log) keep(x *extremes, id rowID, of int) (in bool, out rowID) {
	v := value(of, l.row(id))
	if len(x.rows) < l.perPlace(of) {
		if len(x.rows) == 0 || v < x.least {
			x.least = v
		}
		x.rows = append(x.rows, id)
		return true, 0
	}
	if v <= x.least {
		return false, 0
	}
	byValue := func(a, b rowID) int { return cmp.Compare(value(of, l.row(a)), value(of, l.row(b))) }
	out = slices.MinFunc(x.rows, byValue)
	x.least = value(of, l.row(out))
	if v <= x.least {
		return false, 0
	}
	x.rows[slices.Index(x.rows, out)] = id
	x.least = value(of, l.row(slices.MinFunc(x.rows, byValue)))
	return true, out
}

// perPlace is how many extremes of a kind a name has.
func (l *Log) perPlace(of int) int {
	if places(1)<<of == sampled {
		return (l.perName + 1) / 2
	}
	return l.perName
}

func (l *Log) offerExample(k *keeper, id rowID) {
	r := l.row(id)
	at := latency(r.Duration)
	old := k.examples[at]
	if r.places&example != 0 || old != 0 && r.Start-l.row(old).Start < exampleAge {
		return
	}
	k.examples[at] = id
	r.places |= example
	if old != 0 {
		l.leave(old, example)
	}
}

// leave says that a record is not kept for a place any more, and frees it if nothing
// else keeps it.
func (l *Log) leave(id rowID, place places) {
	r := l.row(id)
	if r.places &^= place; r.places == 0 && r.list == pinnedList {
		l.free(id)
	}
}

// unpin takes a record out of all that keeps it.
func (l *Log) unpin(id rowID) {
	r := l.row(id)
	if r.places == 0 {
		return
	}
	is := func(other rowID) bool { return other == id }
	if k := l.nameOf(r).keeper; k != nil {
		for of := range k.extremes {
			if r.places&(1<<of) != 0 {
				x := &k.extremes[of]
				x.rows = slices.DeleteFunc(x.rows, is)
			}
		}
		if r.places&example != 0 {
			k.examples[latency(r.Duration)] = 0
		}
	}
	if r.places&lastError != 0 {
		l.forgetError(id)
	}
	r.places = 0
}

// rank says how much a record is worth among those that are kept for longer: the
// slowest of a name, its hungriest and the last error of a type have rank 0. A span that
// runs is kept, and has the rank that it would have if it ended now.
func (l *Log) rank(r *Row) int {
	rank := NoRank
	k := l.nameOf(r).keeper
	if k != nil {
		for of := range k.extremes {
			x := &k.extremes[of]
			if r.places&(1<<of) != 0 {
				rank = min(rank, l.before(x, of, value(of, r)))
			}
		}
		if r.Running() {
			rank = min(rank, l.runningRank(k, r))
		}
		if r.places&example != 0 {
			rank = min(rank, exampleRank)
		}
		if rank != NoRank && k != &l.others {
			idle := (l.joinedUntil - k.last) / idleAge
			rank += min(maxIdleRanks, bits.Len64(uint64(max(0, idle))))
		}
	}
	if r.places&lastError != 0 {
		rank = min(rank, l.errorRank(r))
	}
	return rank
}

// before returns how many of some extremes have a greater value.
func (l *Log) before(x *extremes, of int, v int64) (n int) {
	for _, id := range x.rows {
		if value(of, l.row(id)) > v {
			n++
		}
	}
	return n
}

// runningRank is the rank of a span that runs.
func (l *Log) runningRank(k *keeper, r *Row) int {
	rank := l.before(&k.extremes[0], 0, l.joinedUntil-r.Start)
	if r.CPU > 0 {
		rank = min(rank, l.before(&k.extremes[2], 2, int64(r.CPU)))
	}
	if rank >= l.perName {
		return NoRank
	}
	return rank
}
