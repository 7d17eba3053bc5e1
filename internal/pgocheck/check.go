// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package pgocheck compares a default.pgo with an executable. It counts the calls in a CPU
// profile as the Go compiler does.
package pgocheck

import (
	"cmp"
	"errors"
	"slices"

	"github.com/google/pprof/profile"
)

// Check is what a profile has that an executable lacks. Shares are from 0 to 1.
type Check struct {
	// Hot is the number of functions at either end of a hot call.
	Hot int
	// Missing are the hot functions that the executable lacks, by CPU time.
	Missing []Missing
	// Self is the share of the profile's CPU time in missing functions.
	Self float64
}

// Missing is a hot function that an executable lacks.
type Missing struct {
	Name string
	// Self is the function's share of CPU time, Total the share with its callees.
	Self, Total float64
}

// Check returns the hot functions of a profile that the executable lacks.
func (e *Executable) Check(p *profile.Profile) (*Check, error) {
	c, index, err := callsIn(p)
	if err != nil {
		return nil, err
	}
	missing := map[string]*Missing{} // nil for functions that are there
	for call := range c.Hot() {
		for _, name := range []string{call.Caller, call.Callee} {
			missing[name] = nil
			if !e.names[name] {
				missing[name] = &Missing{Name: name}
			}
		}
	}
	delete(missing, "")
	result := &Check{Hot: len(missing)}
	shares(p, index, missing)
	for _, m := range missing {
		if m != nil {
			result.Self += m.Self
			result.Missing = append(result.Missing, *m)
		}
	}
	slices.SortFunc(result.Missing, func(a, b Missing) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
	})
	return result, nil
}

// callsIn returns the calls of a profile and the index of the value that they count.
func callsIn(p *profile.Profile) (Calls, int, error) {
	index := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool {
		return t.Type == "samples" && t.Unit == "count" || t.Type == "cpu" && t.Unit == "nanoseconds"
	})
	if index < 0 {
		return Calls{}, 0, errors.New("not a CPU profile for the compiler: it lacks samples/count and cpu/nanoseconds")
	}
	c := CallsOf(p, index)
	if c.Total <= 0 {
		return c, 0, errors.New("no samples with a call")
	}
	return c, index, nil
}

// shares sets the shares of the functions that are missing.
func shares(p *profile.Profile, index int, missing map[string]*Missing) {
	total := 0.0
	for _, s := range p.Sample {
		total += float64(s.Value[index])
	}
	for _, s := range p.Sample {
		share := float64(s.Value[index]) / total
		seen := map[string]bool{}
		for i, l := range s.Location {
			for j, line := range l.Line {
				if line.Function == nil || missing[line.Function.Name] == nil || seen[line.Function.Name] {
					continue
				}
				m := missing[line.Function.Name]
				seen[m.Name] = true
				m.Total += share
				if i == 0 && j == 0 {
					m.Self += share
				}
			}
		}
	}
}
