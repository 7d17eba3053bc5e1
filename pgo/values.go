// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// nanoseconds are the units in which profilers give CPU time.
var nanoseconds = map[string]int64{"nanoseconds": 1, "microseconds": 1e3, "milliseconds": 1e6, "seconds": 1e9}

// maxCPU bounds the CPU time of all sources, so that sums do not overflow: 73 years.
const maxCPU int64 = math.MaxInt64 / 4

// maxInlined bounds the functions at one place of the code, which are inlined into
// one another. Compilers stay far below, and the work for each sample grows with it.
const maxInlined = 1000

func checkInlined(p *profile.Profile) error {
	for _, l := range p.Location {
		if len(l.Line) > maxInlined {
			return fmt.Errorf("%w: %d functions are inlined at one place", ErrDamaged, len(l.Line))
		}
	}
	return nil
}

// values reads the CPU time and the number of samples of a profile's samples.
type values struct {
	cpu, count int   // indices of values, or -1
	unit       int64 // of the value at cpu, in nanoseconds
	period     int64 // between two samples, in nanoseconds of CPU time; 0: unknown
}

func valuesOf(p *profile.Profile) (values, error) {
	v := values{cpu: -1, count: -1}
	for i, t := range p.SampleType {
		switch {
		case t.Type == "cpu" && nanoseconds[t.Unit] > 0 && v.cpu < 0:
			v.cpu, v.unit = i, nanoseconds[t.Unit]
		case t.Type == "samples" && t.Unit == "count" && v.count < 0:
			v.count = i
		}
	}
	if t := p.PeriodType; t != nil && t.Type == "cpu" {
		if unit := nanoseconds[t.Unit]; unit > 0 && p.Period > 0 && p.Period <= int64(time.Hour)/unit {
			v.period = p.Period * unit
		}
	}
	if v.cpu < 0 && (v.count < 0 || v.period == 0) {
		names := make([]string, len(p.SampleType))
		for i, t := range p.SampleType {
			names[i] = fmt.Sprintf("%.40s/%.40s", t.Type, t.Unit)
		}
		if len(names) == 1 && v.count >= 0 {
			return values{}, fmt.Errorf("%w: it counts samples, and does not say after how much CPU time each was taken", ErrNotCPU)
		}
		return values{}, fmt.Errorf("%w: it measures %s", ErrNotCPU, strings.Join(names, ", "))
	}
	return v, nil
}

// of returns the nanoseconds and the count of a sample.
func (v values) of(s *profile.Sample) (ns, count int64, err error) {
	if v.count >= 0 {
		count = s.Value[v.count]
	}
	factor := v.unit
	if v.cpu >= 0 {
		ns = s.Value[v.cpu]
	} else {
		ns, factor = count, v.period
	}
	switch {
	case ns < 0 || count < 0:
		return 0, 0, fmt.Errorf("%w: it has values below zero, as the difference of two profiles does", ErrNotCPU)
	case ns > maxCPU/factor || count > maxCPU:
		return 0, 0, fmt.Errorf("%w: a sample of more than 73 years", ErrDamaged)
	}
	ns *= factor
	if v.count < 0 && ns > 0 {
		count = 1
		if v.period > 0 {
			count = max(1, (ns+v.period/2)/v.period)
		}
	}
	return ns, count, nil
}
