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

func TestHeapShowsWhatTheWindowAllocated(t *testing.T) {
	before := allocateBefore()
	collect()
	p, rec := start(t, profiler.WithKinds(exporter.KindHeap), profiler.WithWindow(endless))
	flush(t, p)
	if got := allocated(parsed(t, last(t, rec)), "allocateBefore"); got != 0 {
		t.Errorf("the first window has %d bytes that were allocated before it", got)
	}

	during := allocateDuring()
	collect()
	flush(t, p)
	// The profile is an estimate from samples; each of these allocations
	// is so large that it is nearly certain to be one.
	if got := allocated(parsed(t, last(t, rec)), "allocateDuring"); got < size/2 || got > size*2 {
		t.Errorf("the window has %d bytes of allocateDuring, want about %d", got, size)
	}
	flush(t, p)
	if got := allocated(parsed(t, last(t, rec)), "allocateDuring"); got != 0 {
		t.Errorf("the window after it has %d bytes of allocateDuring, want 0", got)
	}
	runtime.KeepAlive(before)
	runtime.KeepAlive(during)

	all := rec.Profiles()
	for i, w := range all[1:] {
		if !w.Start().Equal(all[i].End()) {
			t.Errorf("window %d starts at %v, want the end of the last at %v", i+1, w.Start(), all[i].End())
		}
	}
}

const (
	piece = 4 << 20
	size  = 8 * piece
)

//go:noinline
func allocateBefore() [][]byte { return allocate() }

//go:noinline
func allocateDuring() [][]byte { return allocate() }

func allocate() [][]byte {
	var b [][]byte
	for range size / piece {
		b = append(b, make([]byte, piece))
	}
	return b
}

// collect makes the runtime publish allocations, which takes up to two
// collections.
func collect() {
	runtime.GC()
	runtime.GC()
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
