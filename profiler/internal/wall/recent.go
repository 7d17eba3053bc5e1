// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"slices"
	"time"
)

// recent remembers what had been done a minute ago, to within a second.
type recent struct {
	marks []mark // in the order of time
}

// mark is what had been done at a time.
type mark struct {
	at     time.Time
	rounds uint64
	cpu    time.Duration
}

func (r *recent) add(m mark) {
	if n := len(r.marks); n > 0 && m.at.Sub(r.marks[n-1].at) < time.Second {
		return
	}
	r.marks = append(r.marks, m)
	for len(r.marks) > 1 && m.at.Sub(r.marks[1].at) >= time.Minute {
		r.marks = slices.Delete(r.marks, 0, 1)
	}
}

// until returns the rounds per second and the share of a core from then on.
func (r *recent) until(m mark) (rate, share float64) {
	if len(r.marks) == 0 || !m.at.After(r.marks[0].at) {
		return 0, 0
	}
	begin := r.marks[0]
	seconds := m.at.Sub(begin.at).Seconds()
	return float64(m.rounds-begin.rounds) / seconds, (m.cpu - begin.cpu).Seconds() / seconds
}
