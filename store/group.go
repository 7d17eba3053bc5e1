// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"

	"github.com/spanprof/spanprof/exporter"
)

// group is the samples of a window that have all labels in common: those from
// first up to last.
type group struct {
	window                     *window
	profileID, spanID, traceID string
	labels                     *labelSet
	first, last                int
}

// ids returns the different ids under which a group is found.
func (g *group) ids() []string {
	ids := make([]string, 0, 2)
	if g.profileID != "" {
		ids = append(ids, g.profileID)
	}
	if g.spanID != "" && g.spanID != g.profileID {
		ids = append(ids, g.spanID)
	}
	return ids
}

// count returns the number of samples of the group.
func (g *group) count() (samples int64) {
	for i := g.first; i < g.last; i++ {
		samples += g.window.count(i)
	}
	return samples
}

// cpu returns the CPU time of the group and the number of its samples; both
// are 0 unless the window's kind is CPU.
func (g *group) cpu() (total time.Duration, samples int64) {
	if g.window.kind != exporter.KindCPU {
		return 0, 0
	}
	for i := g.first; i < g.last; i++ {
		if c := g.window.cpuColumn; c >= 0 {
			total += time.Duration(g.window.value(i, c)) * g.window.cpuScale
		}
		samples += g.window.count(i)
	}
	return total, samples
}
