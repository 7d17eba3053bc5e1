// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Check is what of a profile an executable has no use for.
type Check struct {
	// Hot is the number of functions that the compiler takes for hot: those on
	// either end of a hot call.
	Hot int
	// Missing are those of them that the executable has not, the ones with most CPU
	// time first.
	Missing []Missing
	// Self is the share of the profile's CPU time that ran in missing functions, Calls
	// the share of the weight of its hot calls that have one at an end: the compiler
	// does not find these. Both are from 0 to 1.
	Self, Calls float64
}

// Missing is a hot function of the profile that an executable has not.
type Missing struct {
	Name string
	// Self is the share of the profile's CPU time that ran in the function itself, from
	// 0 to 1, Total that with the functions that it called.
	Self, Total float64
	Reason      Reason
	// Now is what the executable has in its place: the function that moved, the
	// generic function, or the one with the closure. It is empty for Gone.
	Now string
}

// Check compares the hot functions of a profile, a default.pgo for example, with
// those of the executable. It returns an error if p is not a CPU profile, or has no
// samples.
func (e *Executable) Check(p *profile.Profile) (*Check, error) {
	c, index, err := callsIn(p)
	if err != nil {
		return nil, err
	}
	hot := c.hot()
	missing := map[string]*Missing{}
	known := map[string]bool{}
	check := &Check{}
	profiled := map[string]bool{}
	for _, f := range p.Function {
		profiled[f.Name] = true
	}
	look := func(name string) bool {
		if _, seen := known[name]; !seen && name != "" {
			ok, why, now := e.functions.find(name)
			if why == Moved && profiled[now] { // it was there before, beside the other
				why, now = Gone, ""
			}
			known[name] = ok
			if !ok {
				missing[name] = &Missing{Name: name, Reason: why, Now: now}
			}
		}
		return name == "" || known[name]
	}
	var weight, lost int64
	for edge, w := range hot {
		weight += w
		if caller, callee := look(edge.caller), look(edge.callee); !caller || !callee {
			lost += w
		}
	}
	check.Hot = len(known)
	if weight > 0 {
		check.Calls = float64(lost) / float64(weight)
	}
	shares(p, index, missing)
	for _, m := range missing {
		check.Self += m.Self
		check.Missing = append(check.Missing, *m)
	}
	slices.SortFunc(check.Missing, func(a, b Missing) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total), strings.Compare(a.Name, b.Name))
	})
	return check, nil
}

// callsIn returns the calls of a profile as the compiler sees it, and the index of
// the value that they count.
func callsIn(p *profile.Profile) (calls, int, error) {
	index, err := compilerValue(p)
	if err != nil {
		return calls{}, 0, fmt.Errorf("pgo: %w", err)
	}
	if err := checkInlined(p); err != nil {
		return calls{}, 0, fmt.Errorf("pgo: %w", err)
	}
	c := callsOf(p, index)
	if c.total <= 0 {
		return calls{}, 0, fmt.Errorf("pgo: %w with a call in them", ErrEmpty)
	}
	return c, index, nil
}

// shares fills in the shares of functions.
func shares(p *profile.Profile, index int, of map[string]*Missing) {
	var total int64
	self, sum := map[string]int64{}, map[string]int64{}
	seen := map[string]bool{}
	for _, s := range p.Sample {
		v := s.Value[index]
		total += v
		clear(seen)
		for i, l := range s.Location {
			for j, line := range l.Line {
				if line.Function == nil || of[line.Function.Name] == nil || seen[line.Function.Name] {
					continue
				}
				name := line.Function.Name
				seen[name] = true
				sum[name] += v
				if i == 0 && j == 0 {
					self[name] += v
				}
			}
		}
	}
	for name, m := range of {
		m.Self = float64(self[name]) / float64(total)
		m.Total = float64(sum[name]) / float64(total)
	}
}
