// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "time"

// spanSamples is what the profiles told about one span.
type spanSamples struct {
	// cpu is the span's own CPU time, below that of its descendants.
	cpu, below time.Duration
	// cpuCount and wallCount are the numbers of samples, held that of the
	// samples of all kinds that are in the windows held.
	cpuCount, wallCount, held int64
}

func (s *spanSamples) add(other spanSamples) {
	s.cpu += other.cpu
	s.below += other.below
	s.cpuCount += other.cpuCount
	s.wallCount += other.wallCount
	s.held += other.held
}
