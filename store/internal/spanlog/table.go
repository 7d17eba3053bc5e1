// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import "github.com/spanprof/spanprof/store/internal/memory"

// ref is the place of a value in a table; 0 is that of the zero value.
type ref uint32

// table gives values places, by which rows refer to them without a pointer. No value is the
// zero value.
type table[T comparable] struct {
	values []T
	// free are the places without a value.
	free []ref
}

// at returns the value at a place.
func (t *table[T]) at(i ref) T {
	if i == 0 {
		var zero T
		return zero
	}
	return t.values[i-1]
}

// add returns a place for a value, and the memory that the table grew by, which it keeps
// until it is empty, or packed.
func (t *table[T]) add(v T) (i ref, grown int64) {
	if n := len(t.free); n > 0 {
		i = t.free[n-1]
		t.free = t.free[:n-1]
		t.values[i-1] = v
		return i, 0
	}
	before := t.size()
	t.values = append(t.values, v)
	return ref(len(t.values)), t.size() - before
}

// remove frees a place, and returns the memory that the table grew by, below 0 where it
// has become empty.
func (t *table[T]) remove(i ref) (grown int64) {
	before := t.size()
	var zero T
	t.values[i-1] = zero
	if t.free = append(t.free, i); len(t.free) == len(t.values) {
		*t = table[T]{}
	}
	return t.size() - before
}

// sparse says that most of a large table is free.
func (t *table[T]) sparse() bool {
	return len(t.values) >= 1024 && len(t.free) > len(t.values)/4*3
}

// pack moves the values of a sparse table together. It returns the new places of all values
// by their old ones, nil if the table is not sparse, and the memory that the table grew by.
func (t *table[T]) pack() (places []ref, grown int64) {
	if !t.sparse() {
		return nil, 0
	}
	places = make([]ref, len(t.values)+1)
	packed := table[T]{values: make([]T, 0, 2*(len(t.values)-len(t.free)))}
	var zero T
	for i, v := range t.values {
		if v != zero {
			places[i+1], _ = packed.add(v)
		}
	}
	grown = packed.size() - t.size()
	*t = packed
	return places, grown
}

func (t *table[T]) size() int64 { return memory.Slice(t.values) + memory.Slice(t.free) }
