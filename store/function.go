// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "hash/maphash"

// Function is a function of the profiled program.
type Function struct {
	Name, File string
	StartLine  int64

	systemName string
}

func (f *Function) hash(seed maphash.Seed) uint64 { return maphash.Comparable(seed, *f) }

func (f *Function) equal(other *Function) bool { return *f == *other }

func (*Function) size() int64 { return 0 }
