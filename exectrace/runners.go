// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"cmp"
	"slices"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
)

// mostReady is how many times of being ready are looked into: the longest.
const mostReady = 16

type runnerKey struct {
	root     int32
	function string // where there is no span
}

// runners finds out who ran while the span's goroutine was ready to run.
func (a *spanAnalysis) runners() {
	ready := slices.Clone(a.ready)
	slices.SortStableFunc(ready, func(x, y stretch) int { return cmp.Compare(y.end-y.start, x.end-x.start) })
	sums := map[runnerKey]int64{}
	a.out.RunnersCut = len(ready) > mostReady
	for _, r := range ready[:min(len(ready), mostReady)] {
		for i := range a.t.Goroutines {
			g := &a.t.Goroutines[i]
			if a.budget--; a.budget < 0 {
				break
			}
			if g.Ended <= r.start || g.Created >= r.end {
				continue
			}
			a.t.Pieces(int32(i), r.start, r.end, func(p timeline.Piece) bool {
				if p.State.OnThread() {
					key := runnerKey{root: a.t.Root(p.Span)}
					if key.root == timeline.None {
						key.function = g.Function
					}
					sums[key] += p.End - p.Start
				}
				a.budget--
				return a.budget >= 0
			})
		}
	}
	a.out.RunnersCut = a.out.RunnersCut || a.budget < 0
	for key, sum := range sums {
		r := Runner{Function: key.function, Duration: duration(sum)}
		if key.root != timeline.None {
			root := &a.t.Spans[key.root]
			r.SpanID, r.Span, r.Same = spanID(root), root.Name, key.root == a.root
		}
		a.out.Runners = append(a.out.Runners, r)
	}
	slices.SortFunc(a.out.Runners, func(x, y Runner) int {
		return cmp.Or(cmp.Compare(y.Duration, x.Duration), cmp.Compare(x.Span, y.Span), cmp.Compare(x.Function, y.Function), cmp.Compare(x.SpanID, y.SpanID))
	})
	a.out.Runners = a.out.Runners[:min(len(a.out.Runners), mostRunners)]
}
