// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"errors"
	"fmt"
	"path"
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
	sums

	name    string
	samples float64
	seconds float64 // of all profiles
	timed   bool    // all profiles have a duration
	work    float64 // requests that it served, 0 if unknown
	per     float64 // its CPU time is divided by this: work or seconds
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

// Add adds a CPU profile to the run of a process with this name. A profile without CPU time is
// an error. So are a profile that cannot be parsed, and values below zero.
func (s *Side) Add(name string, p *exporter.Profile) error {
	parsed, err := p.Parsed()
	if err != nil {
		return err
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
		s.runs = append(s.runs, &run{name: name, sums: newSums(), timed: true})
	}
	r, seconds := s.runs[at], p.Duration().Seconds()
	r.add(sum.sums)
	r.samples += samples
	r.seconds += seconds
	r.timed = r.timed && seconds > 0
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

// size returns the amount of data.
func (s *Side) size() Size {
	size := Size{Runs: len(s.runs)}
	for _, r := range s.runs {
		size.Samples += r.samples
	}
	return size
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

// enough is how many runs a side must have for an estimate of the noise.
const enough = 3

// divide sets the divisor of each run: requests if all runs have a number of them, else seconds.
func divide(runs []*run) (Per, error) {
	per := PerRequest
	if slices.ContainsFunc(runs, func(r *run) bool { return r.work == 0 }) {
		per = PerSecond
	}
	for _, r := range runs {
		switch {
		case per == PerRequest:
			r.per = r.work
		case r.timed:
			r.per = r.seconds
		default:
			return per, fmt.Errorf("compare: profiles of run %q have no duration: give the requests of all runs, or 1 for each", r.name)
		}
	}
	return per, nil
}

// amount is what a function takes: self by itself, total with what it called.
type amount struct{ self, total float64 }

func (a amount) plus(b amount) amount { return amount{a.self + b.self, a.total + b.total} }

// sums is what the functions of some samples take.
type sums struct {
	functions map[string]amount
	total     float64
}

func newSums() sums { return sums{functions: map[string]amount{}} }

func (s *sums) add(other sums) {
	s.total += other.total
	for name, a := range other.functions {
		s.functions[name] = s.functions[name].plus(a)
	}
}

// summer sums samples by function. A stack counts once for a function, however often
// the function is on it.
type summer struct {
	sums
	names map[*profile.Location][]string // the leaf first
	seen  map[string]bool
}

// interrupted is on top of a function that the runtime interrupts to run another
// goroutine. How often that happens depends on how busy the machine is. Its samples
// belong to the function.
const interrupted = "runtime.asyncPreempt"

func newSummer() *summer {
	return &summer{sums: newSums(), names: map[*profile.Location][]string{}, seen: map[string]bool{}}
}

func (s *summer) sample(stack []*profile.Location, value float64) {
	s.total += value
	clear(s.seen)
	leaf := true
	for _, loc := range stack {
		for _, name := range s.namesOf(loc) {
			if s.seen[name] || leaf && name == interrupted {
				continue
			}
			s.seen[name] = true
			a := amount{total: value}
			if leaf {
				a.self, leaf = value, false
			}
			s.functions[name] = s.functions[name].plus(a)
		}
	}
}

// namesOf returns the functions at a location, those that are inlined first. Addresses
// without symbols differ from one build to the next: they count for their library.
func (s *summer) namesOf(loc *profile.Location) []string {
	names, ok := s.names[loc]
	if ok {
		return names
	}
	for _, line := range loc.Line {
		if line.Function != nil && line.Function.Name != "" {
			names = append(names, line.Function.Name)
		}
	}
	if len(names) == 0 {
		name := "(no symbol)"
		if loc.Mapping != nil && loc.Mapping.File != "" {
			name = "(no symbol) " + path.Base(loc.Mapping.File)
		}
		names = []string{name}
	}
	s.names[loc] = names
	return names
}
