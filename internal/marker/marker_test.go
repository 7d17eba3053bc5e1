// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package marker_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/spanprof/spanprof/internal/marker"
)

func TestAllocations(t *testing.T) {
	ctx, calls := t.Context(), 0
	if n := testing.AllocsPerRun(100, func() { marker.Do(ctx, "name", func(context.Context) { calls++ }) }); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// Names beyond the first ones wait for no lock: most calls of a program with many names have them.
func TestOthersWithoutLock(t *testing.T) {
	for i := range 300 {
		marker.Do(t.Context(), fmt.Sprint("GET /", i), func(context.Context) {})
	}
	marker.Adding.Lock()
	defer marker.Adding.Unlock()
	marker.Do(t.Context(), "GET /new", func(context.Context) {}) // would wait for ever
}

func TestDigit(t *testing.T) {
	const prefix = "github.com/spanprof/spanprof/internal/marker."
	for function, want := range map[string]string{
		"": "0 false", "d1": "0 false", prefix: "0 false", prefix + "Do": "0 false", prefix + "digit": "0 false",
		prefix + "d16": "16 false", prefix + "d15": "15 true", prefix + "d3": "3 true",
	} {
		value, ok := marker.Digit(function)
		if got := fmt.Sprint(value, ok); got != want {
			t.Errorf("%q: got %s, want %s", function, got, want)
		}
	}
}

func BenchmarkDo(b *testing.B) {
	f := func(context.Context) {}
	for b.Loop() {
		marker.Do(context.Background(), "GET /checkout", f)
	}
}
