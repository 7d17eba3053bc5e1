// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler"
)

// A window has the allocations between its ends.
func TestHeapOfAWindow(t *testing.T) {
	kept := allocate()
	runtime.GC()
	runtime.GC() // publishes allocations, which takes up to two
	p, rec := start(t, profiler.WithKinds(exporter.KindHeap), profiler.WithWindow(endless))
	window := func() int64 {
		runtime.GC()
		runtime.GC()
		flush(t, p)
		return allocated(parsed(t, last(t, rec)), "allocate")
	}
	if got := window(); got != 0 {
		t.Errorf("the first window has %d bytes that were allocated before it", got)
	}
	kept = append(kept, allocate()...)
	// The profile is an estimate from samples, and these allocations are large.
	if got := window(); got < size/2 || got > size*2 {
		t.Errorf("got %d bytes, want about %d", got, size)
	}
	if got := window(); got != 0 {
		t.Errorf("the window after it has %d bytes, want 0", got)
	}
	runtime.KeepAlive(kept)
}

const (
	piece = 4 << 20
	size  = 8 * piece
)

//go:noinline
func allocate() (b [][]byte) {
	for range size / piece {
		b = append(b, make([]byte, piece))
	}
	return b
}

// allocated sums alloc_space of the samples with a function.
func allocated(p *profile.Profile, function string) int64 {
	i := slices.IndexFunc(p.SampleType, func(v *profile.ValueType) bool { return v.Type == "alloc_space" })
	var sum int64
	for _, s := range p.Sample {
		if hasFunction(s, function) {
			sum += s.Value[i]
		}
	}
	return sum
}
