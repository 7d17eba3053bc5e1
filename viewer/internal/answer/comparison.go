// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import "github.com/spanprof/spanprof/internal/flame"

// maxDiffRows bounds the differences of a comparison.
const maxDiffRows = 2000

// Comparison is two profiles and how they differ.
type Comparison struct {
	// Left is the baseline, Right is compared with it.
	Left  *Profile `json:"left"`
	Right *Profile `json:"right"`
	// Diff has the functions that take more on the right first, then those
	// that take less, each by the difference of their shares. DiffOmitted is
	// the number of those left out, which differ least.
	Diff        []flame.DiffRow `json:"diff"`
	DiffOmitted int             `json:"diffOmitted,omitempty"`
	// Note says in words what to know about both sides.
	Note   string  `json:"note,omitempty"`
	Status *Status `json:"status,omitempty"`
}

// Comparable returns an error for two queries of different profile types.
func Comparable(left, right Query) error {
	if left.Type != right.Type {
		return BadRequestf("left is %s and right is %s: only profiles of one type can be compared", left.Type.Name, right.Type.Name)
	}
	return nil
}

// Compare answers how what right selects differs from what left selects.
func (r *Reader) Compare(left, right Query) (*Comparison, error) {
	fns := flame.NewFunctions(r.ofHost(right))
	c := &Comparison{Left: r.profile(left, fns), Right: r.profile(right, fns), Status: r.status}
	if r.err != nil {
		return nil, r.err
	}
	c.Note = r.notes()
	c.Left.Flame = c.Left.summary.Flame(maxFlameNodes)
	c.Right.Flame = c.Right.summary.FlameAgainst(c.Left.summary, maxFlameNodes)
	c.Diff, c.DiffOmitted = flame.Diff(c.Left.summary, c.Right.summary, maxDiffRows)
	return c, nil
}

// Folded returns the stacks of both sides in the folded form.
func (c *Comparison) Folded() string { return flame.FoldedDiff(c.Left.summary, c.Right.summary) }
