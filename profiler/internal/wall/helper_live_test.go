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

// accuracy returns the largest error of a span's time in a profile: at each end the longest time
// between looks.
func accuracy(p *profile.Profile) (wrong time.Duration) {
	for _, i := range looks.Parse(p.Comments).Long { // the longest are there
		wrong = max(wrong, i.Watched+i.Vague)
	}
	return 2 * wrong
}

// stopped ends a Sampler and discards its last window.
func stopped(t *testing.T, s *Sampler) {
	t.Helper()
	if _, err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// round takes one.
func round(s source, found func([]uintptr, []label, int64)) error {
	if err := s.look(); err != nil {
		return err
	}
	s.visit(found)
	return nil
}
