// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

// maxSlab is how many values are allocated together at most.
const maxSlab = 1024

// slab hands out slices of larger allocations: with one for each slice, building
// a profile takes twice the time. The allocations grow, so that a small profile
// holds little that it does not use.
type slab[T any] struct {
	free []T
	last int // how long the last allocation was
}

// take returns n zero values.
func (s *slab[T]) take(n int) []T {
	if len(s.free) < n {
		s.last = max(n, min(max(8, 2*s.last), maxSlab))
		s.free = make([]T, s.last)
	}
	taken := s.free[:n:n]
	s.free = s.free[n:]
	return taken
}
