// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package frames_test

import (
	"math/rand/v2"
	"testing"

	"github.com/spanprof/spanprof/store/internal/frames"
)

// Numbers are those of a map, for no frame too.
func TestNumbers(t *testing.T) {
	table := frames.New()
	for i := range uint32(1000) {
		id, _ := table.Intern(0, i)
		table.Change(id, 1, 0)
	}
	numbers, want := table.Reader().Numbers(), make(map[frames.ID]uint32)
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		id := frames.ID(rnd.IntN(1001))
		number, known := want[id]
		if !known {
			number = uint32(len(want))
			want[id] = number
		}
		if got, isNew := numbers.Of(id); got != number || isNew == known {
			t.Fatalf("frame %d: number %d, new %t, want %d, %t", id, got, isNew, number, !known)
		}
	}
	if len(want) != 1001 {
		t.Errorf("%d frames were asked for", len(want))
	}
}
