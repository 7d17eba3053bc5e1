// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"runtime"
	"slices"
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/spanlabels"
	"github.com/spanprof/spanprof/profiler/internal/wall"
)

// Root is the goroutines that work for one open local root, or for one manual profile_id.
type Root struct {
	// ID is the value of profile_id or span_id, the local root's span id. TraceID and Name
	// are the values of trace_id and span_name, empty without the label.
	ID, TraceID, Name string
	// Start is the start of the local root. It is zero for labels of pprof.Do, and if
	// goroutines are labelled by runtime/pprof's public API.
	Start time.Time
	// Stacks are the places of its goroutines, the most frequent first.
	Stacks []Stack
}

// Stack is a place with some goroutines of a Root.
type Stack struct {
	// Frames are the functions, the innermost first, without the runtime's functions of
	// waiting. Only Function, File and Line are set.
	Frames     []runtime.Frame
	Goroutines int
}

// maxStacks bounds the stacks of one Root.
const maxStacks = 100

// Running returns the local roots with labels on a goroutine now, the oldest first, and those
// without a start last. It does not return an open span if no goroutine carries its labels. A
// span of a goroutine with the labels of another span on top is not returned either. It needs
// Go 1.26 or 1.27, and returns nil for others.
//
// It costs about a microsecond for each goroutine of the process, and stops all of them
// for a few microseconds. It may be called at any time, also before New and after Shutdown.
func Running() []Root {
	records, sets := goruntime.Goroutines(nil, nil)
	now := goruntime.Nanotime()
	starts := make(map[string]int64)
	for _, r := range spanlabels.Roots(sets) {
		starts[r.ID] = r.Start
	}
	symbols := goruntime.NewSymbols()
	roots := make(map[string]*Root)
	for i, set := range sets {
		held, _ := spanlabels.At(set, now)
		id := value(held, labelkey.ProfileID, labelkey.SpanID)
		if id == "" {
			continue
		}
		root := roots[id]
		if root == nil {
			root = &Root{ID: id, TraceID: value(held, labelkey.TraceID), Name: value(held, labelkey.SpanName)}
			if start := starts[id]; start > 0 {
				root.Start = time.Unix(0, start)
			}
			roots[id] = root
		}
		root.add(framesOf(symbols, records[i].Stack))
	}
	all := make([]Root, 0, len(roots))
	for _, r := range roots {
		slices.SortStableFunc(r.Stacks, func(a, b Stack) int { return b.Goroutines - a.Goroutines })
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b Root) int {
		if a.Start.IsZero() != b.Start.IsZero() {
			return b.Start.Compare(a.Start)
		}
		return a.Start.Compare(b.Start)
	})
	return all
}

// value returns the value of the first label that is there.
func value(set *goruntime.LabelSet, keys ...string) string {
	for _, key := range keys {
		if l := set.Find(key); l != nil {
			return l.Value
		}
	}
	return ""
}

// add counts a goroutine.
func (r *Root) add(frames []runtime.Frame) {
	i := slices.IndexFunc(r.Stacks, func(s Stack) bool { return slices.Equal(s.Frames, frames) })
	switch {
	case i >= 0:
		r.Stacks[i].Goroutines++
	case len(r.Stacks) < maxStacks:
		r.Stacks = append(r.Stacks, Stack{frames, 1})
	}
}

func framesOf(symbols *goruntime.Symbols, stack []uintptr) (frames []runtime.Frame) {
	for len(stack) > 0 {
		n := symbols.Split(stack)
		for _, f := range symbols.Frames(stack[:n]) {
			if !wall.Silent(f.Function) {
				frames = append(frames, runtime.Frame{Function: f.Function, File: f.File, Line: int(f.Line)})
			}
		}
		stack = stack[n:]
	}
	return frames
}
