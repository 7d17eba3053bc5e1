// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package frames_test

import (
	"testing"

	"github.com/spanprof/spanprof/store/internal/frames"
)

// A few frames of many take no room for all.
func TestNumbersOfFewFrames(t *testing.T) {
	table := frames.New()
	for i := range uint32(100_000) {
		id, _ := table.Intern(0, i)
		table.Change(id, 1, 0)
	}
	reader := table.Reader()
	if n := testing.AllocsPerRun(10, func() {
		numbers := reader.Numbers()
		for id := range frames.ID(100) {
			numbers.Of(id + 1)
		}
	}); n > 3 {
		t.Errorf("%v allocations for neighbours, want the list and one or two chunks", n)
	}
}
