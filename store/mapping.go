// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "hash/maphash"

// Mapping is an executable or a library of the profiled program.
type Mapping struct {
	File, BuildID string
	Start, Limit  uint64
	Offset        uint64

	hasFunctions, hasFilenames, hasLineNumbers, hasInlineFrames bool
}

func (m *Mapping) hash(seed maphash.Seed) uint64 { return maphash.Comparable(seed, *m) }

func (m *Mapping) equal(other *Mapping) bool { return *m == *other }

func (*Mapping) size() int64 { return 0 }
