// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math"
	"slices"
)

// column is numbers that are kept in as few bytes as the greatest needs. In a
// window of CPU samples nearly all fit into one or two.
type column struct {
	narrow []uint8
	middle []uint16
	wide   []uint32
}

// newColumn may keep the values.
func newColumn(values []uint32) column {
	if len(values) == 0 {
		return column{}
	}
	switch greatest := slices.Max(values); {
	case greatest <= math.MaxUint8:
		return column{narrow: convert[uint8](values)}
	case greatest <= math.MaxUint16:
		return column{middle: convert[uint16](values)}
	default:
		return column{wide: values}
	}
}

func convert[N uint8 | uint16](values []uint32) []N {
	converted := make([]N, len(values))
	for i, v := range values {
		converted[i] = N(v)
	}
	return converted
}

func (c *column) at(i int) int {
	switch {
	case c.narrow != nil:
		return int(c.narrow[i])
	case c.middle != nil:
		return int(c.middle[i])
	default:
		return int(c.wide[i])
	}
}

func (c *column) size() int64 {
	return sliceSize(c.narrow) + sliceSize(c.middle) + sliceSize(c.wide)
}
