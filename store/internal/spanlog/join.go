// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"cmp"
	"iter"
	"time"

	"github.com/spanprof/spanprof/store/internal/cputime"
	"github.com/spanprof/spanprof/store/internal/ident"
)

const (
	// joinLen is how many groups are joined while the log is locked.
	joinLen = 32
	// maxDepth bounds the way from a span to its local root.
	maxDepth = 100
)

// Group is the samples of a window that have all labels in common, of a span.
type Group struct {
	// Index is the caller's number of the group.
	Index int
	// Profile and Span are the spans that profile_id and span_id name, 0 for
	// none. Loose says that profile_id names something that span_id does not.
	Profile, Span ident.Key
	Loose         bool
	// Ended is the span after whose end the samples were taken, 0 for none. They are
	// not its own, but stay for as long as its own do.
	Ended ident.Key
	Label string
	Samples
}

// batches calls do with joinLen groups at a time, so that the log is not locked for
// long.
func batches(groups iter.Seq[Group], do func([]Group)) {
	var some []Group
	for g := range groups {
		if some == nil {
			// Most windows of an idle process have no group.
			some = make([]Group, 0, joinLen)
		}
		if some = append(some, g); len(some) == joinLen {
			do(some)
			some = some[:0]
		}
	}
	if len(some) > 0 {
		do(some)
	}
}

// ProfiledUntil says when a CPU window ended whose samples are about to come, in
// nanoseconds since 1970.
func (l *Log) ProfiledUntil(end int64) {
	l.lock()
	defer l.mu.Unlock()
	l.joinedUntil = cputime.Until(l.joinedUntil, end)
	l.orphans.now = l.joinedUntil
	// The clock may have been set back.
	l.orphans.lostAt = min(l.orphans.lostAt, l.joinedUntil)
}

// Join adds the samples of a service to their spans. It returns the numbers of the
// groups whose profile_id names no known span.
func (l *Log) Join(service string, groups iter.Seq[Group]) (loose []uint32) {
	batches(groups, func(some []Group) { loose = l.joinSome(loose, service, some) })
	return loose
}

func (l *Log) joinSome(loose []uint32, service string, some []Group) []uint32 {
	l.lockIndexed()
	defer l.mu.Unlock()
	l.generation.Add(1)
	for i := range some {
		g := &some[i]
		if g.Span != 0 && !l.addSamples(g.Span, g) {
			if l.addOrphan(g.Span, g) {
				l.withSamples++
			}
			l.countByLabel(g, service)
		}
		known := false
		if g.Profile != 0 && g.Profile != g.Span {
			if known = l.addSamples(g.Profile, g); !known {
				// It may be a manual exemplar as well, which counts by
				// itself.
				l.addOrphan(g.Profile, g)
				if g.Span != 0 {
					// Their way up begins at the span.
					l.orphans.of(g.Profile).shared += g.CPU
				}
			}
		}
		if g.Loose && !known {
			loose = append(loose, uint32(g.Index))
		}
		switch {
		case g.CPU == 0:
		case g.Span != 0:
			l.climb(g.Span, g.Profile, g.CPU)
		default:
			l.climb(g.Profile, 0, g.CPU)
		}
	}
	// Their labels may be new.
	l.trim()
	return loose
}

// addSamples adds samples to the record of a span. It returns false if there is
// none.
func (l *Log) addSamples(key ident.Key, g *Group) bool {
	id, ok := l.indexed(key)
	if !ok {
		return l.addDeparted(key, g)
	}
	l.save(id)
	r := l.row(id)
	if r.CPUCount == 0 && g.CPUCount > 0 {
		l.withSamples++
	}
	r.Add(g.Samples)
	r.saved = 0
	l.setLabel(r, g.Label)
	if g.CPUCount > 0 {
		c := l.count(l.nameOf(r))
		c.CPU += g.CPU
		c.CPUCount += g.CPUCount
		c.Label = cmp.Or(g.Label, c.Label)
	}
	l.offer(id)
	return true
}

// addOrphan remembers samples of a span without a record, and says whether they
// are its first of CPU.
func (l *Log) addOrphan(key ident.Key, g *Group) (first bool) {
	o := l.orphans.of(key)
	first = o.CPUCount == 0 && g.CPUCount > 0
	o.Add(g.Samples)
	l.orphans.setLabel(key, g.Label)
	return first
}

// countByLabel counts samples of a span without a record.
func (l *Log) countByLabel(g *Group, service string) {
	if g.Label == "" || g.CPUCount == 0 {
		return
	}
	n := l.retainName(service, g.Label)
	c := l.count(n)
	c.CPU += g.CPU
	c.CPUCount += g.CPUCount
	c.Label = g.Label
	l.releaseName(n)
}

// adopt gives a span that ends the samples that came before.
func (l *Log) adopt(r *Row, key ident.Key) {
	if !l.orphans.has(key) {
		return
	}
	o, label := l.orphans.take(key)
	r.Add(o.Samples)
	l.setLabel(r, label)
	// What went up from its children stopped here.
	if up := o.Below + o.CPU - o.shared; up > 0 {
		l.climbFrom(r, 0, up)
	}
}

// climb adds CPU time of a span to those that it descends from, but for the span
// named except, which has it already.
func (l *Log) climb(from, except ident.Key, cpu time.Duration) {
	if id, ok := l.indexed(from); ok {
		l.climbFrom(l.row(id), except, cpu)
	} else if d := l.departed.get(from); d != nil {
		l.climbFrom(&Row{ParentID: d.parent, LocalRoot: d.local}, except, cpu)
	}
	// An orphan's goes up when its parent is known.
}

func (l *Log) climbFrom(r *Row, except ident.Key, cpu time.Duration) {
	for range maxDepth {
		if r.LocalRoot || !r.ParentID.IsValid() {
			return
		}
		parent := ident.NewKey(r.ParentID)
		id, ok := l.recordOf(parent)
		if !ok {
			if o := l.orphans.of(parent); parent == except {
				// It has them already, and they go on from there.
				o.shared -= cpu
			} else {
				o.Below += cpu
			}
			return
		}
		r = l.row(id)
		if parent != except {
			l.save(id)
			r.Below += cpu
			r.saved = 0
		}
	}
}
