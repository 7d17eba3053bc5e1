// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"math"
	"slices"
)

// Column is numbers that are kept in as few bytes as the greatest needs. In a
// window of CPU samples nearly all fit into one or two.
type Column struct {
	narrow []uint8
	middle []uint16
	wide   []uint32
}

// NewColumn returns a column of the values, which it may keep.
func NewColumn(values []uint32) Column {
	if len(values) == 0 {
		return Column{}
	}
	switch greatest := slices.Max(values); {
	case greatest <= math.MaxUint8:
		return Column{narrow: convert[uint8](values)}
	case greatest <= math.MaxUint16:
		return Column{middle: convert[uint16](values)}
	default:
		return Column{wide: values}
	}
}

func convert[N uint8 | uint16](values []uint32) []N {
	converted := make([]N, len(values))
	for i, v := range values {
		converted[i] = N(v)
	}
	return converted
}

// At returns the i-th number.
func (c *Column) At(i int) int {
	switch {
	case c.narrow != nil:
		return int(c.narrow[i])
	case c.middle != nil:
		return int(c.middle[i])
	default:
		return int(c.wide[i])
	}
}

// Size returns the memory of the numbers.
func (c *Column) Size() int64 {
	return Slice(c.narrow) + Slice(c.middle) + Slice(c.wide)
}

// Len returns how many numbers there are.
func (c *Column) Len() int { return len(c.narrow) + len(c.middle) + len(c.wide) }
