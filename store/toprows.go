// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"container/heap"
	"slices"
)

// topRows picks the first rows of an order out of many, without keeping or sorting
// the others. Rows with equal values stay in the order in which they came.
type topRows struct {
	order Order
	// limit is how many rows are wanted; 0 means all.
	limit int
	rows  []spanRow
	// places are those of rows; once there are as many as are wanted they are
	// a heap, with the last of the order at the top.
	places rowPlaces
	// came is how many rows were added.
	came int
}

// rowPlace is what decides on the order of a row, and where it is.
type rowPlace struct {
	value       int64
	came, place int
}

// compare is negative if p comes before q.
func (p rowPlace) compare(q rowPlace) int {
	return cmp.Or(cmp.Compare(q.value, p.value), cmp.Compare(p.came, q.came))
}

// wants says whether a row of that value that comes now is among the first so far.
func (t *topRows) wants(value int64) bool {
	return t.limit == 0 || len(t.rows) < t.limit || value > t.places[0].value
}

// add keeps the row, if it is wanted.
func (t *topRows) add(row spanRow) {
	if !t.wants(row.value) {
		return
	}
	p := rowPlace{value: row.value, came: t.came, place: len(t.rows)}
	t.came++
	if t.limit == 0 || len(t.rows) < t.limit {
		t.rows = append(t.rows, row)
		t.places = append(t.places, p)
		if len(t.rows) == t.limit {
			heap.Init(&t.places)
		}
		return
	}
	p.place = t.places[0].place
	t.rows[p.place] = row
	t.places[0] = p
	heap.Fix(&t.places, 0)
}

// sorted returns the rows in their order. Nothing may be added after it.
func (t *topRows) sorted() []spanRow {
	slices.SortFunc(t.places, rowPlace.compare)
	rows := make([]spanRow, len(t.rows))
	for i, p := range t.places {
		rows[i] = t.rows[p.place]
	}
	return rows
}

// rowPlaces is a heap.Interface of a length that stays.
type rowPlaces []rowPlace

func (p rowPlaces) Len() int           { return len(p) }
func (p rowPlaces) Less(i, j int) bool { return p[i].compare(p[j]) > 0 }
func (p rowPlaces) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }
func (p *rowPlaces) Push(x any)        { *p = append(*p, x.(rowPlace)) }

func (p *rowPlaces) Pop() any {
	last := len(*p) - 1
	x := (*p)[last]
	*p = (*p)[:last]
	return x
}
