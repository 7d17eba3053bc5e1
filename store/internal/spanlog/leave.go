// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"iter"
	"slices"

	"github.com/spanprof/spanprof/store/internal/ident"
)

// Kept is a group that stays when its window goes, and the span that it stays for.
type Kept struct {
	Index int
	Owner ident.Key
}

// Leave takes the samples of a window that is evicted from what their spans hold.
// It returns the groups that stay, as their spans are kept for longer.
func (l *Log) Leave(groups iter.Seq[Group]) (kept []Kept) {
	batches(groups, func(some []Group) {
		l.lockIndexed()
		defer l.mu.Unlock()
		l.generation.Add(1)
		for i := range some {
			g := &some[i]
			switch {
			case l.pinned(g.Span):
				kept = append(kept, Kept{g.Index, g.Span})
			case l.pinned(g.Profile):
				kept = append(kept, Kept{g.Index, g.Profile})
			case l.pinned(g.Ended):
				kept = append(kept, Kept{g.Index, g.Ended})
			default:
				l.drop(g)
			}
		}
	})
	return kept
}

// LeaveAll is Leave for groups that stayed until now.
func (l *Log) LeaveAll(groups iter.Seq[Group]) {
	batches(groups, func(some []Group) {
		l.lockIndexed()
		defer l.mu.Unlock()
		l.generation.Add(1)
		for i := range some {
			l.drop(&some[i])
		}
	})
}

// Ranks returns the rank of each span, as rank does.
func (l *Log) Ranks(keys []ident.Key) []int {
	ranks := make([]int, 0, len(keys))
	for some := range slices.Chunk(keys, joinLen) {
		l.lockIndexed()
		for _, key := range some {
			rank := NoRank
			if id, ok := l.indexed(key); ok {
				rank = l.rank(l.row(id))
			}
			ranks = append(ranks, rank)
		}
		l.mu.Unlock()
	}
	return ranks
}

func (l *Log) pinned(key ident.Key) bool {
	id, ok := l.indexed(key)
	return ok && key != 0 && l.rank(l.row(id)) != NoRank
}

// drop takes samples from what their spans hold. Of some the log may never have
// known, as they came before the span's record and were too many.
func (l *Log) drop(g *Group) {
	l.dropFrom(g.Span, g)
	if g.Profile != g.Span {
		l.dropFrom(g.Profile, g)
	}
}

func (l *Log) dropFrom(key ident.Key, g *Group) {
	held := g.Held
	// It has started before the window ended: its record will know that it may miss
	// samples.
	if o := l.orphans.byKey[key]; o != nil {
		held -= o.drop(held)
	} else if f := l.orphans.faded.get(key); f != nil {
		held -= f.drop(held)
	}
	if id, ok := l.indexed(key); ok {
		l.save(id)
		r := l.row(id)
		r.Held = max(0, r.Held-held)
		r.Missed = r.Missed || g.CPUCount > 0
	} else if d := l.departed.get(key); d != nil {
		d.Held = max(0, d.Held-held)
	}
}
