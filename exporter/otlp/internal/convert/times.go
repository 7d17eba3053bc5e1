// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"slices"

	"github.com/google/pprof/profile"
)

// timestamps returns times as messages have them, nil if one is before 1970.
func timestamps(times []int64) []uint64 {
	if len(times) == 0 || slices.Min(times) < 0 {
		return nil
	}
	unsigned := make([]uint64, len(times))
	for i, t := range times {
		unsigned[i] = uint64(t)
	}
	return unsigned
}

// countsTimestamps reports whether the values of a column are the numbers of the samples'
// timestamps. The message then has no values. All samples of a profile must have one form.
func countsTimestamps(samples []*profile.Sample, stamps [][]uint64, column int) bool {
	for i, s := range samples {
		if len(stamps[i]) == 0 || s.Value[column] != int64(len(stamps[i])) {
			return false
		}
	}
	return len(samples) > 0
}
