// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/columns"
	"github.com/spanprof/spanprof/internal/labelkey"
)

// Side is the profiles of one of the two versions that are compared. It is not safe for
// concurrent use.
type Side struct {
	span string // the selected span_name, "" for all samples
	runs []*run
}

// run is one run of a process, or one replica.
type run struct {
	name string
	work float64 // requests that it served, 0 if that is not known
	// windows are at most maxWindows.
	windows []window
}

// maxWindows bounds the memory for a run: with more, neighbours are added up.
const maxWindows = 128

// window is a CPU profile, or several in a row.
type window struct {
	sums
	samples float64
	seconds float64 // 0 if that is not known
}

// NewSide returns a side without profiles. It selects the samples of CPU profiles with this
// value of the label span_name, all for "".
func NewSide(span string) *Side { return &Side{span: span} }

// Runs returns the names of the runs that have CPU profiles, in the order in which they
// came.
func (s *Side) Runs() []string {
	names := make([]string, len(s.runs))
	for i, r := range s.runs {
		names[i] = r.name
	}
	return names
}

// Add adds a CPU profile to the run of a process with this name. Other kinds are an error, as
// are a profile that cannot be parsed and values of CPU below zero.
func (s *Side) Add(name string, p *exporter.Profile) error {
	parsed, err := p.Parsed()
	if err != nil {
		return err
	}
	if p.Kind() != exporter.KindCPU {
		return fmt.Errorf("compare: a %s profile: only cpu can be compared", p.Kind())
	}
	for _, part := range columns.Split(parsed, "") {
		if part.Kind == columns.CPU {
			parsed = part.Profile
		}
	}
	value, err := newValue(parsed)
	if err != nil {
		return err
	}
	sum, samples := newSummer(), 0.0
	for _, sample := range parsed.Sample {
		ns, count := value.of(sample)
		if ns < 0 || count < 0 {
			return errors.New("compare: a CPU profile with values below zero: is it a difference already?")
		}
		if s.span == "" || slices.Contains(sample.Label[labelkey.SpanName], s.span) {
			sum.sample(sample.Location, ns)
			samples += count
		}
	}
	at := slices.IndexFunc(s.runs, func(r *run) bool { return r.name == name })
	if at < 0 {
		at = len(s.runs)
		s.runs = append(s.runs, &run{name: name})
	}
	s.runs[at].add(window{sum.sums, samples, p.Duration().Seconds()})
	return nil
}

// SetWork sets the number of requests, or units of other work, of each run, in the order of
// Runs. One number stands for every run. Other counts, and numbers that are not
// positive, are an error.
func (s *Side) SetWork(work ...float64) error {
	if len(work) != 1 && len(work) != len(s.runs) {
		return fmt.Errorf("compare: %d amounts of work for %d runs: give one, or one for each", len(work), len(s.runs))
	}
	for i, r := range s.runs {
		w := work[min(i, len(work)-1)]
		if !(w > 0) {
			return fmt.Errorf("compare: an amount of work of %v: give a positive number", w)
		}
		r.work = w
	}
	return nil
}

func (r *run) add(w window) {
	r.windows = append(r.windows, w)
	if len(r.windows) < maxWindows {
		return
	}
	half := r.windows[:0]
	for pair := range slices.Chunk(r.windows, 2) {
		half = append(half, joined(pair))
	}
	clear(r.windows[len(half):])
	r.windows = half
}

// joined returns windows as one.
func joined(windows []window) window {
	all := window{sums: newSums()}
	known := true
	for _, w := range windows {
		all.add(w.sums)
		all.samples += w.samples
		all.seconds += w.seconds
		known = known && w.seconds > 0
	}
	if !known {
		all.seconds = 0
	}
	return all
}

// value reads CPU time and number of samples. count is -1 if only the period is known.
type value struct {
	time, count int // columns
	period      float64
}

func newValue(p *profile.Profile) (value, error) {
	v := value{columns.Index(p, columns.CPU), columns.Index(p, "samples"), 0}
	if p.PeriodType != nil && p.PeriodType.Unit == "nanoseconds" {
		v.period = float64(p.Period)
	}
	switch {
	case v.time < 0:
		return v, errors.New("compare: a CPU profile without CPU time")
	case v.count < 0 && v.period <= 0:
		return v, errors.New("compare: a CPU profile without a number of samples or a period")
	}
	return v, nil
}

func (v value) of(s *profile.Sample) (ns, samples float64) {
	ns = float64(s.Value[v.time])
	if v.count < 0 {
		return ns, ns / v.period
	}
	return ns, float64(s.Value[v.count])
}

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
