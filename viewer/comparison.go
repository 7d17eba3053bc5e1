// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

// comparison is two answers and how they differ.
type comparison struct {
	// Left is the baseline, Right what is held against it.
	Left  *answer `json:"left"`
	Right *answer `json:"right"`
	// Diff has the functions whose shares differ most first; DiffOmitted is
	// the number of those that were left out at its end.
	Diff        []diffRow   `json:"diff"`
	DiffOmitted int         `json:"diffOmitted,omitempty"`
	Status      *statusJSON `json:"status,omitempty"`
}

// compare holds what right selects against what left selects.
func (h *handler) compare(left, right query) (*comparison, error) {
	l, err := h.answer(left)
	if err != nil {
		return nil, err
	}
	r, err := h.answer(right)
	if err != nil {
		return nil, err
	}
	if left.typ != right.typ {
		return nil, badRequestf("left is %s and right is %s: only profiles of one type can be compared", left.typ.name, right.typ.name)
	}
	c := &comparison{Left: l, Right: r, Diff: newDiff(l.selection, r.selection)}
	if omitted := len(c.Diff) - maxDiffRows; omitted > 0 {
		c.Diff, c.DiffOmitted = c.Diff[:maxDiffRows], omitted
	}
	return c, nil
}
