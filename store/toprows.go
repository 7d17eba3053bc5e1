// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "slices"

// topRows picks the first rows of an order out of many, without keeping all.
// Rows that compare as equal stay in the order in which they came.
type topRows struct {
	order Order
	// limit is how many rows are wanted; 0 means all.
	limit int
	rows  []spanRow
	// full says that the first limit rows are sorted, so that a row that
	// does not come before the last of them is none of the first.
	full bool
}

// add keeps a copy of the row, if it is among the first so far.
func (t *topRows) add(row spanRow) {
	if t.full && t.order.compare(&row, &t.rows[t.limit-1]) >= 0 {
		return
	}
	t.rows = append(t.rows, row)
	if t.limit > 0 && len(t.rows)/2 >= t.limit {
		t.cut()
	}
}

// cut sorts the rows and drops those beyond the limit.
func (t *topRows) cut() {
	slices.SortStableFunc(t.rows, func(a, b spanRow) int { return t.order.compare(&a, &b) })
	if t.limit > 0 && len(t.rows) >= t.limit {
		t.rows = t.rows[:t.limit]
		t.full = true
	}
}
