// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package sorting sorts slices with little code. An instance of slices.SortFunc for another type
// takes 10 kB of a program. An instance of Func takes less than 1 kB, and about twice the time, so
// hot paths use package slices.
package sorting

import "sort"

// Func sorts s by compare.
func Func[E any](s []E, compare func(a, b E) int) { sort.Sort(by[E]{s, compare}) }

// Stable sorts s by compare. Equal elements keep their order.
func Stable[E any](s []E, compare func(a, b E) int) { sort.Stable(by[E]{s, compare}) }

type by[E any] struct {
	s       []E
	compare func(a, b E) int
}

func (b by[E]) Len() int           { return len(b.s) }
func (b by[E]) Less(i, j int) bool { return b.compare(b.s[i], b.s[j]) < 0 }
func (b by[E]) Swap(i, j int)      { b.s[i], b.s[j] = b.s[j], b.s[i] }
