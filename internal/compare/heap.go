// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/columns"
)

// heapTypes are the sample types that are compared: what is live, and what is allocated.
var heapTypes = []string{"inuse_space", "alloc_space"}

// heap is the memory of one side.
type heap struct{ runs []*heapRun }

// heapRun sums the heap profiles of a run.
type heapRun struct {
	name string
	sums [2]*sums // of heapTypes
	// by is what the sums are divided by: the number of profiles, and the seconds
	// that they took.
	by [2]float64
}

func (h *heap) add(name string, d time.Duration, p *profile.Profile) error {
	at := slices.IndexFunc(h.runs, func(r *heapRun) bool { return r.name == name })
	if at < 0 {
		at = len(h.runs)
		h.runs = append(h.runs, &heapRun{name: name})
	}
	r := h.runs[at]
	found := false
	for i, name := range heapTypes {
		index := columns.Index(p, name)
		if index < 0 {
			continue
		}
		found = true
		by := 1.0
		if name == "alloc_space" {
			// Without a duration it is all since the process began.
			if by = d.Seconds(); by == 0 {
				continue
			}
		}
		r.by[i] += by
		sum := newSummer()
		for _, s := range p.Sample {
			if s.Value[index] != 0 {
				sum.sample(s.Location, float64(s.Value[index]))
			}
		}
		if r.sums[i] != nil {
			sum.add(*r.sums[i])
		}
		r.sums[i] = &sum.sums
	}
	if !found {
		return fmt.Errorf("compare: a heap profile without any of %q", heapTypes)
	}
	return nil
}

// compareHeap compares the types that both sides have.
func compareHeap(before, after *heap) []Heap {
	var list []Heap
	for i, name := range heapTypes {
		b, inBefore := before.mean(i)
		a, inAfter := after.mean(i)
		if !inBefore || !inAfter {
			continue
		}
		h := Heap{Type: name, Total: plain(b.total, a.total)}
		names := newSums()
		names.add(b)
		names.add(a)
		for name := range names.functions {
			b, a := b.functions[name], a.functions[name]
			h.Functions = append(h.Functions, Function{Name: name, Total: plain(b.total, a.total), Self: plain(b.self, a.self)})
		}
		slices.SortFunc(h.Functions, func(a, b Function) int {
			return cmp.Or(cmp.Compare(b.size(), a.size()), cmp.Compare(a.Name, b.Name))
		})
		list = append(list, h)
	}
	return list
}

// mean returns the mean of the runs' profiles, or what they allocate in a second.
func (h *heap) mean(index int) (sums, bool) {
	mean, n := newSums(), 0.0
	for _, r := range h.runs {
		if r.sums[index] != nil {
			n++
		}
	}
	for _, r := range h.runs {
		if s := r.sums[index]; s != nil {
			mean.add(s.times(1 / (r.by[index] * n)))
		}
	}
	return mean, n > 0
}

func (s sums) times(f float64) sums {
	scaled := newSums()
	scaled.total = s.total * f
	for name, a := range s.functions {
		scaled.functions[name] = amount{a.self * f, a.total * f}
	}
	return scaled
}

// plain is a change without a test.
func plain(before, after float64) Change {
	c := Change{Before: before, After: after}
	if before > 0 {
		c.Ratio = after / before
	}
	return c
}
