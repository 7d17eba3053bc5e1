// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/internal/termtext"
)

// functions is a list of functions and what it leaves out.
type functions struct {
	// Functions are those with most self, the most first; where not all have room, half
	// of them are those with the biggest totals of the others.
	Functions []flame.Function `json:"functions"`
	// FunctionsOmitted says what of others is hidden; it is missing if none is.
	FunctionsOmitted *Omitted `json:"functionsOmitted,omitempty"`
}

// Omitted is what a list leaves out.
type Omitted struct {
	// Count is the number of those left out.
	Count int `json:"count"`
	// Self is what they take together.
	Self int64 `json:"self"`
	// MaxTotal is the biggest total among functions, with what they call.
	MaxTotal int64 `json:"maxTotal,omitempty"`
}

// newFunctions bounds a list that has those with most self first.
func newFunctions(all []flame.Function) functions {
	if len(all) <= maxFunctions {
		return functions{Functions: all}
	}
	kept := slices.Clone(all[:maxFunctions/2])
	rest := slices.Clone(all[maxFunctions/2:])
	slices.SortStableFunc(rest, func(a, b flame.Function) int { return cmp.Compare(b.Total, a.Total) })
	room := maxFunctions - len(kept)
	kept = append(kept, rest[:room]...)
	slices.SortStableFunc(kept, func(a, b flame.Function) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total))
	})
	omitted := &Omitted{Count: len(rest) - room, MaxTotal: rest[room].Total}
	for _, f := range rest[room:] {
		omitted.Self += f.Self
	}
	return functions{Functions: kept, FunctionsOmitted: omitted}
}

// omitted returns the number of functions that are left out.
func (f functions) omitted() int {
	if f.FunctionsOmitted == nil {
		return 0
	}
	return f.FunctionsOmitted.Count
}

// maxPackages bounds the packages of an answer.
const maxPackages = 100

func (a *Profile) setPackages() {
	a.Packages = a.summary.Packages()
	if len(a.Packages) <= maxPackages {
		return
	}
	a.PackagesOmitted = &Omitted{Count: len(a.Packages) - maxPackages}
	for _, p := range a.Packages[maxPackages:] {
		a.PackagesOmitted.Self += p.Self
	}
	a.Packages = a.Packages[:maxPackages]
}

// The Go runtime notes so many frames of a stack, those nearest to the leaf. A stack of
// which it has seen the root is shorter, for the root of all, which is not shown, counts.
const (
	cpuFrames   = 64
	otherFrames = 128
)

// setCut finds out how much is in stacks that the runtime cut.
func (a *Profile) setCut() {
	switch a.query.Type.Kind {
	case exporter.KindCPU:
		a.CutAt, a.CutTotal = cpuFrames, a.summary.Deep(cpuFrames)
	default:
		// Where the leaf is inlined, one of the frames is not shown.
		a.CutAt, a.CutTotal = otherFrames, a.summary.Deep(otherFrames-1)
	}
	if a.CutTotal == 0 {
		a.CutAt = 0
	}
}

// cutNote says what is not known of stacks that were cut, "" if none was.
func (a *Profile) cutNote() string {
	if a.CutTotal == 0 {
		return ""
	}
	return fmt.Sprintf("%s of this is in stacks of more than %d frames, which is what the Go runtime notes: they begin in their middle, and what called them is not shown", termtext.Percent(a.CutTotal, a.Total), a.CutAt)
}
