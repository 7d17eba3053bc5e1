// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"io"
	"runtime"
	"time"

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

// WithLeaks sets the function that writes the profile goroutineleak of runtime/pprof. The page
// running then has a button that finds leaked goroutines. By default there is no such button.
//
// f is called for each click, and costs a garbage collection. It must be safe for concurrent use.
func WithLeaks(f func(io.Writer) error) Option {
	return optionFunc(func(c config) config {
		c.leaks = f
		return c
	})
}

// WithRunning sets the function that lists what runs now, the oldest first, and adds the page
// running. By default there is no such page.
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
			stack.Add(f.Function, f.File, f.Line)
		}
		root.Stacks = append(root.Stacks, stack)
	}
	return root
}
