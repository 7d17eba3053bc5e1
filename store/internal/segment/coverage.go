// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"slices"
)

// Coverage is how much of a span's time CPU profiles cover.
type Coverage int

// The coverages. Evicted means that samples of the span may have been evicted, or that
// nothing is known about its time.
const (
	Whole Coverage = iota
	Partial
	None
	Evicted
)

const (
	// maxRotation is the longest time between two windows that is no gap. The runtime
	// takes 20 ms to write a profile, and up to 200 ms on macOS.
	maxRotation = int64(250e6)
	// maxOvertaken is how much earlier than another window one may end that arrives
	// after it: a profiler waits for a destination for that long.
	maxOvertaken = int64(60e9)
	maxPeriods   = 256
	maxServices  = 256
)

// period is a time in nanoseconds since 1970.
type period struct{ start, end int64 }

// profiled is when the CPU of a service was profiled.
type profiled struct {
	// until is the end of the latest window by the clock of the newest one.
	until int64
	// periods are sorted, with gaps of more than maxRotation. Before since they are
	// unknown.
	periods []period
	since   int64
}

type serviceKey struct {
	service string
	process *Process
}

// profiledBy enters a CPU window of a process.
func (r *Room) profiledBy(w *window, process *Process) {
	key := serviceKey{w.name(), process}
	p, ok := r.profiles[key]
	switch {
	case !ok && len(r.profiles) == maxServices:
		return
	case !ok, w.end < p.until-maxOvertaken: // the clock was set back
		p.until = w.end
	}
	p.until = max(p.until, w.end)
	if start, end := w.start, w.end; start < end {
		first, _ := slices.BinarySearchFunc(p.periods, start-maxRotation, func(q period, t int64) int { return cmp.Compare(q.end, t) })
		next := first
		for ; next < len(p.periods) && p.periods[next].start <= end+maxRotation; next++ {
			start, end = min(start, p.periods[next].start), max(end, p.periods[next].end)
		}
		p.periods = slices.Replace(slices.Clone(p.periods), first, next, period{start, end})
		if len(p.periods) > maxPeriods {
			p.since, p.periods = p.periods[0].end, p.periods[1:]
		}
	}
	r.profiles[key] = p
}

// adopt gives the profiles without a resource to the process's service.
func (r *Room) adopt(service string) {
	for _, of := range []string{"", noService()} {
		if p, ok := r.profiles[serviceKey{service: of}]; ok && of != service {
			delete(r.profiles, serviceKey{service: of})
			r.profiles[serviceKey{service: service}] = p
		}
	}
}

// Coverage returns how much of a span's time was profiled, as far as profiles have arrived.
// complete is set if they have arrived for all of it. known is false without any profile.
func (v *View) Coverage(s *Span) (c Coverage, complete, known bool) {
	p, known := v.profiles[serviceKey{s.Service, s.Process}]
	for key, of := range v.profiles { // else of the service with the latest window
		if _, own := v.profiles[serviceKey{s.Service, s.Process}]; !own && key.process == s.Process && (!known || of.until > p.until) {
			p, known = of, true
		}
	}
	if !known {
		return Whole, false, false
	}
	complete = p.until >= s.End()
	start, end := s.Start, min(max(s.End(), s.Start+1), p.until)
	if end <= start {
		return Whole, complete, true
	}
	if start < p.since || s.Process == nil && !s.kept && start < v.Dropped[s.Service] && v.Unended > 0 {
		return Evicted, complete, true
	}
	covered := int64(0)
	for _, q := range p.periods {
		covered += max(0, min(end, q.end)-max(start, q.start))
	}
	switch covered {
	case end - start:
		return Whole, complete, true
	case 0:
		return None, complete, true
	}
	return Partial, complete, true
}

// Until returns the end of the latest CPU window of a service of this process, false
// without any.
func (v *View) Until(service string) (until int64, ok bool) {
	p, ok := v.profiles[serviceKey{service: service}]
	return p.until, ok
}
