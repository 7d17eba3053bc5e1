// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import "slices"

// enough is how many units a side has to have for an estimate of the noise.
const enough = 3

// unit is a run or a window, with what its CPU time is divided by.
type unit struct {
	window
	work float64
}

// units returns what is compared. Without a work to divide by, a unit is left out.
func units(s *Side, u Unit, per Per) (list []unit, leftOut int) {
	for _, r := range s.runs {
		windows := []window{joined(r.windows)}
		if u == UnitWindow {
			windows = r.windows
		}
		for _, w := range windows {
			if work := w.work(r, per); work > 0 {
				list = append(list, unit{w, work})
			} else {
				leftOut++
			}
		}
	}
	return list, leftOut
}

func (w window) work(r *run, per Per) float64 {
	switch per {
	case PerRequest:
		return r.work
	case PerSpan:
		return float64(w.spans)
	case PerSecond:
		return w.seconds
	default:
		return w.total
	}
}

// unitOf returns the best unit that both sides have enough of.
func unitOf(before, after *Side, per Per) Unit {
	switch {
	case len(before.runs) >= enough && len(after.runs) >= enough:
		return UnitRun
	case before.windows() >= enough && after.windows() >= enough && per != PerRequest: // requests are counted by run
		return UnitWindow
	}
	return UnitNone
}

func (s *Side) windows() int {
	n := 0
	for _, r := range s.runs {
		n += len(r.windows)
	}
	return n
}

// perOf returns what both sides can be divided by: requests where they are known,
// seconds where all windows have a duration, else the total.
func perOf(before, after *Side) Per {
	runs := slices.Concat(before.runs, after.runs)
	switch {
	case !slices.ContainsFunc(runs, func(r *run) bool { return r.work == 0 }):
		return PerRequest
	case !slices.ContainsFunc(runs, func(r *run) bool {
		return slices.ContainsFunc(r.windows, func(w window) bool { return w.seconds == 0 })
	}):
		return PerSecond
	}
	return PerShare
}
