// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"sync"
	"time"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
	"github.com/spanprof/spanprof/internal/goruntime"
)

const (
	// agentsNotice is how long an agent may go on with the wall clock as it was before a step:
	// OpenTelemetry's compares the clocks each three minutes.
	agentsNotice = 4 * time.Minute
	// leastStep is by how much the wall clock is set at least. Between two looks at clocks that
	// a sandbox keeps on its own they may drift apart by less.
	leastStep = 100 * time.Microsecond
	// mostClockError is when a reading of the clocks is of no use.
	mostClockError = 10 * time.Microsecond
)

// clockSteps notices steps of the wall clock. It is safe for concurrent use.
type clockSteps struct {
	mu   sync.Mutex
	last timeline.Clock
	over time.Time // when agents have noticed the last step
}

// doubtful looks at the clocks, and reports whether the times of an agent's samples may be wrong.
func (s *clockSteps) doubtful(now time.Time) bool {
	if goruntime.Unknown() != nil {
		return false // nothing is known of threads
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := timeline.ReadClock(); c.Error <= mostClockError {
		if !s.last.Epoch.IsZero() && c.Epoch.Sub(s.last.Epoch).Abs() > leastStep {
			s.over = now.Add(agentsNotice)
		}
		s.last = c
	}
	return now.Before(s.over)
}
