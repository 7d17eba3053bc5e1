// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"runtime"
	"time"

	"github.com/spanprof/spanprof/internal/marker"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// Running is an open local root, or work with a profile_id of its own, and its goroutines.
type Running struct {
	// ID is the value of profile_id. TraceID and Name are the values of trace_id and
	// span_name, empty without the label.
	ID, TraceID, Name string
	// Start is zero if it is unknown.
	Start  time.Time
	Stacks []RunningStack
}

// RunningStack is a place with some goroutines of a Running.
type RunningStack struct {
	// Frames are the functions, the innermost first.
	Frames     []runtime.Frame
	Goroutines int
}

// WithRunning sets the function that lists what runs now, the oldest first, and adds the pages
// running and leaks. By default there are none. Leaked goroutines are of this process: do not set
// it in a viewer of other processes.
//
// f is called for each request for that page, and must be safe for concurrent use.
func WithRunning(f func() []Running) Option {
	return optionFunc(func(c config) config {
		c.running = func(now time.Time) []answer.Root {
			roots := []answer.Root{}
			for _, r := range f() {
				roots = append(roots, r.answer(now))
			}
			return roots
		}
		return c
	})
}

func (r *Running) answer(now time.Time) answer.Root {
	root := answer.Root{ProfileID: r.ID, TraceID: r.TraceID, Name: r.Name}
	if !r.Start.IsZero() {
		root.AgeNs = max(1, now.Sub(r.Start).Nanoseconds())
	}
	for _, s := range r.Stacks {
		stack := answer.Stack{Goroutines: s.Goroutines}
		for _, f := range s.Frames {
			if !marker.IsFrame(f.Function) {
				stack.Add(f.Function, f.File, f.Line)
			}
		}
		root.Stacks = append(root.Stacks, stack)
	}
	return root
}
