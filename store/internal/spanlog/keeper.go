// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"cmp"
	"slices"
)

// keeper has the records that are kept as the extremes of a name, or of all
// names that have no keeper of their own.
type keeper struct {
	slowest, hungriest extremes
}

// extremes are the records with the greatest values, in no order.
type extremes struct {
	rows []rowID
	// least is the smallest value among them, or less: values grow.
	least int64
}

func slowness(r *Record) int64 { return r.Duration }

func hunger(r *Record) int64 { return int64(r.CPU) }

// offer enters an ended record among the extremes of its name, where it belongs
// there.
func (l *Log) offer(id rowID) {
	r := l.row(id)
	k := r.Name.keeper
	if k == nil || r.Running() || r.list == passedList {
		return
	}
	if !r.slow {
		in, out := l.keep(&k.slowest, id, slowness)
		r.slow = in
		if out != 0 {
			l.row(out).slow = false
			l.freeUnpinned(out)
		}
	}
	if !r.hungry && r.CPU > 0 {
		in, out := l.keep(&k.hungriest, id, hunger)
		r.hungry = in
		if out != 0 {
			l.row(out).hungry = false
			l.freeUnpinned(out)
		}
	}
}

// keep enters a record if there is room, or one with a smaller value, which then
// goes out.
func (l *Log) keep(x *extremes, id rowID, value func(*Record) int64) (in bool, out rowID) {
	v := value(l.row(id))
	if len(x.rows) < l.perName {
		if len(x.rows) == 0 || v < x.least {
			x.least = v
		}
		x.rows = append(x.rows, id)
		return true, 0
	}
	if v <= x.least {
		return false, 0
	}
	byValue := func(a, b rowID) int { return cmp.Compare(value(l.row(a)), value(l.row(b))) }
	out = slices.MinFunc(x.rows, byValue)
	x.least = value(l.row(out))
	if v <= x.least {
		return false, 0
	}
	x.rows[slices.Index(x.rows, out)] = id
	x.least = value(l.row(slices.MinFunc(x.rows, byValue)))
	return true, out
}

// freeUnpinned frees a record that nothing keeps any more.
func (l *Log) freeUnpinned(id rowID) {
	if r := l.row(id); r.list == pinnedList && !r.slow && !r.hungry {
		l.free(id)
	}
}

// unpin takes a record out of its keeper.
func (l *Log) unpin(id rowID) {
	r := l.row(id)
	is := func(other rowID) bool { return other == id }
	if r.slow {
		x := &r.Name.keeper.slowest
		x.rows = slices.DeleteFunc(x.rows, is)
	}
	if r.hungry {
		x := &r.Name.keeper.hungriest
		x.rows = slices.DeleteFunc(x.rows, is)
	}
	r.slow, r.hungry = false, false
}
