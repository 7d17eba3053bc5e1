// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "github.com/spanprof/spanprof/store/internal/cputime"

// Coverage says whether CPU profiles cover the time of a span. Time for which
// windows are yet to come does not count.
type Coverage int

const (
	// CoverageWhole says that CPU was profiled all the time and that what the
	// profiles have of the span is held: samples that are not there were never
	// taken.
	CoverageWhole Coverage = iota
	// CoveragePartial says that CPU was not profiled in part of the time, as
	// while another CPU profile ran in the process.
	CoveragePartial
	// CoverageNone says that CPU was not profiled at all in that time.
	CoverageNone
	// CoverageEvicted says that profiles of that time, or of a part of it,
	// made room for newer ones, and samples of the span with them; or that the
	// store got to know of the span too late to tell.
	CoverageEvicted
)

// String returns "whole", "partial", "none" or "evicted".
func (c Coverage) String() string {
	switch c {
	case CoveragePartial:
		return "partial"
	case CoverageNone:
		return "none"
	case CoverageEvicted:
		return "evicted"
	default:
		return "whole"
	}
}

var coverages = [...]Coverage{
	cputime.Whole: CoverageWhole,
	cputime.Part:  CoveragePartial,
	cputime.None:  CoverageNone,
	cputime.Gone:  CoverageEvicted,
}
