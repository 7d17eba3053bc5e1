// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "math"

// rows tells which row of values each sample has. There are few different rows
// in a CPU profile, one byte is then enough; where there are many, wide has them.
type rows struct {
	narrow []uint8
	wide   []uint32
}

// newRows returns the rows that samples have of n different ones.
func newRows(of []uint32, n int) rows {
	if n > math.MaxUint8+1 {
		return rows{wide: of}
	}
	r := rows{narrow: make([]uint8, len(of))}
	for i, row := range of {
		r.narrow[i] = uint8(row)
	}
	return r
}

func (r *rows) of(sample int) int {
	if r.wide != nil {
		return int(r.wide[sample])
	}
	return int(r.narrow[sample])
}

func (r *rows) size() int64 { return sliceSize(r.narrow) + sliceSize(r.wide) }
