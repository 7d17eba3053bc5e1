// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pgo

import "github.com/google/pprof/profile"

// Coverage is how much of a workload's CPU time a profile marks hot, in shares from 0
// to 1.
//
// A sample is marked if the innermost call of its stack is hot by the compiler's
// rule: among the heaviest calls, by caller, line and callee, that make up 99 % of the
// weight of all calls. What runs at the root of a stack is called by nothing and
// marked by no profile.
type Coverage struct {
	// Calls is the share that the profile marks.
	Calls float64
	// Own is the share that the workload's own profile marks: all that could be had.
	Own float64
	// Functions is the share that ran in functions with a hot call to them from
	// anywhere in the profile. Where it is much more than Calls, callers or
	// lines have changed since.
	Functions float64
}

// Cover tells how well a profile, default.pgo for example, serves a workload. It
// returns an error if one of them is not a CPU profile or has no samples.
func Cover(p, workload *profile.Profile) (Coverage, error) {
	given, _, err := callsIn(p)
	if err != nil {
		return Coverage{}, err
	}
	own, index, err := callsIn(workload)
	if err != nil {
		return Coverage{}, err
	}
	hot, ownHot := given.hot(), own.hot()
	callees := map[string]bool{}
	for edge := range hot {
		callees[edge.callee] = true
	}
	var total, byCalls, byOwn, byFunctions int64
	var chain []node
	for _, s := range workload.Sample {
		v := s.Value[index]
		total += v
		chain = chainOf(s, chain[:0])
		if len(chain) < 2 {
			continue
		}
		from, to := chain[len(chain)-2], chain[len(chain)-1]
		edge := callBetween(from, to)
		if hot[edge] > 0 {
			byCalls += v
		}
		if ownHot[edge] > 0 {
			byOwn += v
		}
		if callees[to.name] {
			byFunctions += v
		}
	}
	share := func(v int64) float64 { return float64(v) / float64(total) }
	return Coverage{Calls: share(byCalls), Own: share(byOwn), Functions: share(byFunctions)}, nil
}
