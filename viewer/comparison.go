// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import "context"

// comparison is two answers and how they differ.
type comparison struct {
	// Left is the baseline, Right what is held against it.
	Left  *answer `json:"left"`
	Right *answer `json:"right"`
	// Diff has the functions that take more on the right first, then those
	// that take less, each by the difference of their shares. DiffOmitted is
	// the number of those that were left out, which differ least.
	Diff        []diffRow   `json:"diff"`
	DiffOmitted int         `json:"diffOmitted,omitempty"`
	Status      *statusJSON `json:"status,omitempty"`
}

// sameType returns an error for two queries whose answers have no differences
// that mean anything.
func sameType(left, right query) error {
	if left.typ != right.typ {
		return badRequestf("left is %s and right is %s: only profiles of one type can be compared", left.typ.name, right.typ.name)
	}
	return nil
}

// compare holds what right selects against what left selects.
func (h *handler) compare(ctx context.Context, left, right query) (*comparison, error) {
	fns := newFunctions()
	l, err := h.answer(ctx, left, fns)
	if err != nil {
		return nil, err
	}
	r, err := h.answer(ctx, right, fns)
	if err != nil {
		return nil, err
	}
	r.breakdown.tree.hold(l.breakdown.tree)
	l.Flame, r.Flame = l.breakdown.tree.flame(maxFlameNodes), r.breakdown.tree.flame(maxFlameNodes)
	c := &comparison{Left: l, Right: r, Status: h.statusJSON()}
	c.Diff, c.DiffOmitted = newDiff(l.breakdown, r.breakdown, maxDiffRows)
	return c, nil
}
