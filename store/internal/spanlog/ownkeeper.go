// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"math"
	"slices"
	"time"
)

// saw counts a span that ended, and finds a keeper for names that come again and again.
func (l *Log) saw(n *Name, end int64) {
	k := n.keeper
	if k == nil {
		return
	}
	if k != &l.others {
		k.seen = min(k.seen, math.MaxInt32) + 1
		k.last = end
		return
	}
	n.seen++
	if n.seen >= minEvidence && n.seen&(n.seen-1) == 0 {
		l.claim(n, end)
	}
}

// claim gives a name the keeper of the one that has the fewest spans of late, if these
// are fewer than its own.
func (l *Log) claim(n *Name, now int64) {
	if l.keepers < l.maxKeepers {
		n.keeper = l.ownKeeper(n, now)
		l.takeOver(n)
		return
	}
	var (
		victim *Name
		least  uint32
	)
	for _, of := range l.owners {
		k := of.keeper
		worth := k.seen
		if idle := (now - k.last) / int64(time.Hour); idle > 0 {
			worth >>= min(31, uint64(idle))
		}
		if victim == nil || worth < least {
			victim, least = of, worth
		}
	}
	if victim == nil || least >= n.seen {
		return
	}
	l.dismiss(victim)
	n.keeper = l.ownKeeper(n, now)
	l.takeOver(n)
}

// dismiss takes a name's keeper away. What it kept competes with that of the other
// names without a keeper.
func (l *Log) dismiss(n *Name) {
	k := n.keeper
	l.dropKeeper(n)
	n.keeper = &l.others
	n.seen = 0
	l.moveOut(k, func(rowID) bool { return true })
}

// takeOver moves what the others' keeper has of a name to the name's own.
func (l *Log) takeOver(n *Name) {
	l.moveOut(&l.others, func(id rowID) bool { return l.row(id).name == n.ref })
}

// moveOut takes records out of a keeper that is not that of their name any more, and
// offers them to the one that is.
func (l *Log) moveOut(k *keeper, moves func(rowID) bool) {
	var out []rowID
	for of := range k.extremes {
		x := &k.extremes[of]
		x.rows = slices.DeleteFunc(x.rows, func(id rowID) bool {
			if !moves(id) {
				return false
			}
			l.row(id).places &^= places(1) << of
			out = append(out, id)
			return true
		})
	}
	for i, id := range k.examples {
		if id != 0 && moves(id) {
			l.row(id).places &^= example
			k.examples[i] = 0
			out = append(out, id)
		}
	}
	slices.Sort(out)
	for _, id := range slices.Compact(out) {
		// One that was offered before may have freed it.
		if r := l.row(id); r.list != freeList {
			l.save(id)
			l.offer(id)
			if r.list == pinnedList && r.places == 0 {
				l.free(id)
			}
		}
	}
}
