// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package filter

import "github.com/spanprof/spanprof/store/internal/samples"

// Tried remembers what met a condition that is an expression, so that the queries of a
// request try it once on each value and group. The zero Tried remembers nothing. It is not
// safe for concurrent use.
type Tried struct {
	values map[string]bool
	groups map[*samples.Window]*triedGroups
}

// triedGroups are those of a window that were tried, and those of them that met the
// condition.
type triedGroups struct{ tried, met bits }

// remembered is a condition with what has met it.
type remembered struct {
	Condition
	tried *Tried
}

// MatchesAll is [Condition.MatchesAll] for the values of one of many spans: each value is
// tried once, in whatever spans and beside whatever other values it is. A nil Tried remembers
// nothing.
func (t *Tried) MatchesAll(c *Condition, values []string) bool {
	if t == nil {
		return c.matchesAll(values, c.matches)
	}
	return c.matchesAll(values, func(value string) bool { return t.value(c, value) })
}

// value reports whether a value meets a condition.
func (t *Tried) value(c *Condition, value string) bool {
	met, ok := t.values[value]
	if !ok {
		if t.values == nil {
			t.values = make(map[string]bool)
		}
		met = c.matches(value)
		t.values[value] = met
	}
	return met
}

// group reports whether a group meets a condition, as try says for one that was not tried.
func (t *Tried) group(g samples.Group, try func() bool) bool {
	of := t.groups[g.Window]
	if of == nil {
		if t.groups == nil {
			t.groups = make(map[*samples.Window]*triedGroups)
		}
		words := (g.Window.Groups() + 63) / 64
		of = &triedGroups{make(bits, words), make(bits, words)}
		t.groups[g.Window] = of
	}
	if !of.tried.has(g.Index) {
		of.tried.set(g.Index)
		if try() {
			of.met.set(g.Index)
		}
	}
	return of.met.has(g.Index)
}

// bits is a set of numbers from 0 on.
type bits []uint64

func (b bits) set(i int) { b[i/64] |= 1 << (i % 64) }

func (b bits) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
