// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package samples

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/spanprof/spanprof/internal/looks"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// Cut is some groups of a window, in its order.
type Cut struct {
	*Window
	Groups []int
}

// All returns all groups of a window.
func All(w *Window) Cut {
	groups := make([]int, len(w.groups))
	for i := range groups {
		groups[i] = i
	}
	return Cut{w, groups}
}

// Joins reports whether a part may have groups of both windows: they are profiles of one
// kind and service, with values that add up.
func (w *Window) Joins(other *Window) bool {
	return w.Kind == other.Kind && w.Service == other.Service && w.Version == other.Version &&
		w.DefaultType == other.DefaultType && w.PeriodType == other.PeriodType && w.Period == other.Period &&
		slices.Equal(w.Types, other.Types) && !slices.ContainsFunc(w.Types, ValueType.Momentary)
}

// Part returns a window of the groups of some windows, to keep when these go. It is
// about the time that they bound. Of several windows each two must join. The order tells,
// for each sample of the part, which sample of which cut it is.
func Part(cuts ...Cut) (part Window, order []Place) {
	w := cuts[0].Window
	part = Window{
		Kind: w.Kind, Service: w.Service, Version: w.Version, Start: w.Start, End: w.End,
		Types: w.Types, DefaultType: w.DefaultType, PeriodType: w.PeriodType, Period: w.Period,
		cpuColumn: w.cpuColumn, countColumn: w.countColumn, cpuScale: w.cpuScale,
		Kept: true,
	}
	var groups []Place
	for i, cut := range cuts {
		if cut.Start.Before(part.Start) {
			part.Start = cut.Start
		}
		if cut.End.After(part.End) {
			part.End = cut.End
		}
		for _, group := range cut.Groups {
			groups = append(groups, Place{i, group})
		}
	}
	slices.SortStableFunc(groups, func(a, b Place) int {
		return cmp.Compare(cuts[a.Cut].groups[a.Index].span, cuts[b.Cut].groups[b.Index].span)
	})

	labellings := make(map[labelling]uint32)
	places := make(map[string]uint32)
	var (
		labelled, surplus, rows []uint32
		key                     []byte
		times                   [][]int64
	)
	timed := slices.ContainsFunc(cuts, func(c Cut) bool { return c.HasTimes() })
	for _, group := range groups {
		g := Group{cuts[group.Cut].Window, group.Index}
		place, ok := labellings[*g.labelling()]
		if !ok {
			place = uint32(len(part.labellings))
			labellings[*g.labelling()] = place
			part.labellings = append(part.labellings, *g.labelling())
		}
		labelled = append(labelled, place)
		surplus = append(surplus, uint32(len(rows)-len(part.groups)))
		first, last := g.Bounds()
		for i := first; i < last; i++ {
			values := g.Window.values[g.Window.rows.At(i)*len(w.Types):][:len(w.Types)]
			key = key[:0]
			for _, v := range values {
				key = binary.LittleEndian.AppendUint64(key, uint64(v))
			}
			place, ok := places[string(key)]
			if !ok {
				place = uint32(len(places))
				places[string(key)] = place
				part.values = append(part.values, values...)
			}
			rows = append(rows, place)
			order = append(order, Place{group.Cut, i})
		}
		if g.Window.Loose(g.Index) {
			part.loose = append(part.loose, uint32(len(part.groups)))
		}
		if span := g.Ended(); span != 0 {
			part.ended = append(part.ended, endedGroup{span: span, group: uint32(len(part.groups))})
		}
		if timed {
			times = g.appendTimes(times)
		}
		part.groups = append(part.groups, *g.row())
	}
	part.groups, part.labellings = slices.Clone(part.groups), slices.Clone(part.labellings)
	part.loose, part.values = slices.Clone(part.loose), slices.Clone(part.values)
	part.labelled, part.surplus, part.rows = memory.NewColumn(labelled), memory.NewColumn(surplus), memory.NewColumn(slices.Clone(rows))
	part.ended = slices.Clone(part.ended)
	part.packTimes(times)
	part.Looks = looksOf(cuts)
	part.finish()
	return part, order
}

// looksOf returns those of all windows, nil if none knows of any.
func looksOf(cuts []Cut) *looks.Looks {
	var known []*looks.Looks
	for _, cut := range cuts {
		if cut.Looks != nil {
			known = append(known, cut.Looks)
		}
	}
	if len(known) == 0 {
		return nil
	}
	all := new(looks.Looks)
	for _, l := range known {
		all.Merge(l)
	}
	all.MergeGaps(known...)
	all.Bound()
	all.Gaps, all.Long = slices.Clip(all.Gaps), slices.Clip(all.Long)
	return all
}

// Place is a sample or a group of one of several cuts.
type Place struct {
	Cut, Index int
}
