// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	"fmt"
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
// f costs a garbage collection. It is called for each POST to leaks, and must be safe for
// concurrent use.
func WithLeaks(f func(io.Writer) error) Option {
	return optionFunc(func(c *config) { c.leaks = f })
}

func (h *handler) findLeaks(q *question) error {
	if h.leaks == nil {
		return nil
	}
	var b bytes.Buffer
	if err := h.leaks(&b); err != nil {
		return fmt.Errorf("leaked goroutines: %w", err)
	}
	q.leaks = b.Bytes()
	return nil
}

// WithRunning sets the function that lists what runs now, the oldest first, and adds the page
// running. By default there is no such page.
//
// f is called for each request for that page, and must be safe for concurrent use.
func WithRunning(f func() []Running) Option {
	return optionFunc(func(c *config) {
		c.running = func(now time.Time) []answer.Root {
			roots := []answer.Root{}
			for _, r := range f() {
				root := answer.Root{ProfileID: r.ID, TraceID: r.TraceID, Name: r.Name}
				if !r.Start.IsZero() {
					root.AgeNs = max(1, now.Sub(r.Start).Nanoseconds())
				}
				for _, s := range r.Stacks {
					root.Add(s.Goroutines, s.Frames)
				}
				roots = append(roots, root)
			}
			return roots
		}
	})
}
