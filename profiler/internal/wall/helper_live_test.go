// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package wall

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/looks"
)

// longest is how long the work of a test becomes at most, before it says that
// it was not sampled.
const longest = 32 * time.Second

// doubling plays a scenario, for twice as long each time, until it returns that
// there were samples enough.
func doubling(t *testing.T, scenario func(d time.Duration) bool) {
	t.Helper()
	for d := 100 * time.Millisecond; d <= longest; d *= 2 {
		if scenario(d) {
			return
		}
	}
	t.Fatalf("too few samples in %v", longest)
}

// functions returns the functions of a sample, the leaf first.
func functions(s *profile.Sample) []string {
	var names []string
	for _, l := range s.Location {
		for _, line := range l.Line {
			names = append(names, line.Function.Name)
		}
	}
	return names
}

func has(s *profile.Sample, suffix string) bool {
	return slices.ContainsFunc(functions(s), func(f string) bool { return strings.HasSuffix(f, suffix) })
}

// accuracy returns by how much the time of a span in a profile can be more or less than it
// took: at each end by the longest time between looks. It may lack what was unwatched.
func accuracy(p *profile.Profile) (wrong, unwatched time.Duration) {
	l := looks.Parse(p.Comments)
	for _, i := range l.Long { // the longest are there
		wrong = max(wrong, i.Watched+i.Vague)
	}
	for _, g := range l.Gaps {
		unwatched += g.Unwatched
	}
	return 2 * wrong, unwatched
}
