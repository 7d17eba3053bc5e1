// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/termtext"
)

// The Go runtime notes so many frames of a stack, nearest to the leaf. A stack with its root is
// shorter, because the root of all stacks counts and is not shown.
const (
	cpuFrames   = 64
	otherFrames = 128
)

// setCut finds out how much is in stacks that the runtime cut.
func (a *Profile) setCut() {
	switch a.query.Type.Kind {
	case exporter.KindHost: // The agent's stacks are not the runtime's.
		return
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

// cutNote is the note on stacks that were cut, "" without any.
func (a *Profile) cutNote() string {
	if a.CutTotal == 0 {
		return ""
	}
	return fmt.Sprintf("%s of this is in stacks of more than %d frames, which is what the Go runtime notes: they begin in their middle, and what called them is not shown", termtext.Percent(a.CutTotal, a.Total), a.CutAt)
}
