// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"slices"
	"unsafe"

	"github.com/spanprof/spanprof/profiler/internal/goruntime"
)

var _ source = (*runtimeSource)(nil)

// runtimeSource takes a round by the function of the runtime that runtime/pprof
// makes its goroutine profile of: under 1 us for each goroutine, a tenth of what
// the public way costs.
type runtimeSource struct {
	records []goruntime.StackRecord
	labels  []unsafe.Pointer
	seen    map[uintptr][]frame // addresses asked for so far: bounded by the program's code
}

func newRuntimeSource() *runtimeSource {
	return &runtimeSource{seen: make(map[uintptr][]frame)}
}

func (*runtimeSource) name() string { return "runtime" }

func (*runtimeSource) priorCost() float64 { return 3000 }

func (s *runtimeSource) round(found func(stack []uintptr, labels []label, count int64)) error {
	n := s.fill()
	for i, r := range s.records[:n] {
		if labels := goruntime.Labels(s.labels[i]); len(r.Stack) > 0 && ofSpan(labels) {
			found(r.Stack, labels, 1)
		}
	}
	// The stacks and labels are garbage now, unless found has kept them.
	clear(s.records[:n])
	clear(s.labels[:n])
	return nil
}

// fill takes the profile, with room for goroutines that start meanwhile, and
// returns its length.
func (s *runtimeSource) fill() int {
	n, _ := goruntime.GoroutineProfile(nil, nil)
	for {
		if room := n + n/8 + 64; len(s.records) < n || len(s.records) > 4*room {
			s.records = make([]goruntime.StackRecord, room)
			s.labels = make([]unsafe.Pointer, room)
		}
		var ok bool
		if n, ok = goruntime.GoroutineProfile(s.records, s.labels); ok {
			return n
		}
	}
}

func (s *runtimeSource) frames(pc uintptr) []frame {
	frames, ok := s.seen[pc]
	if !ok {
		frames = slices.DeleteFunc(goruntime.Frames(pc), func(f frame) bool { return silent(f.Function) })
		s.seen[pc] = frames
	}
	return frames
}
