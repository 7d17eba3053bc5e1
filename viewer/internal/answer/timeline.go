// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer/internal/sums"
)

const (
	// timelineNames bounds the names: people can tell only a few colours apart.
	timelineNames = 6
	// maxBuckets bounds the answer. More windows than that are merged.
	maxBuckets = 240
)

// Timeline is what a query selects over time.
type Timeline struct {
	Query   string `json:"query"`
	Measure string `json:"measure"`
	Unit    string `json:"unit"`
	// Momentary is set if a value describes a moment, as the heap in use does: it must not
	// be added to others, or divided by the length of its window.
	Momentary bool `json:"momentary,omitempty"`
	*sums.Timeline
	// Note is a remark about the time line.
	Note string `json:"note,omitempty"`
}

// Timeline answers what q selects over time.
func (r *Reader) Timeline(q Query) (*Timeline, error) {
	q = r.resolve(q)
	asked := q.store()
	asked.Labels, asked.Steps = []string{labelkey.SpanName}, true
	held := r.sumsOf("time line", q, asked)
	var windows []store.WindowInfo
	if !r.ranged() {
		windows = sums.In(r.allWindows(), q.Type.Kind, q.From, q.Until)
	}
	line := sums.NewTimeline(held, windows, timelineNames)
	line.Merge(maxBuckets, held.Momentary)
	t := &Timeline{
		Query:     q.String(),
		Measure:   q.Type.Words,
		Unit:      cmp.Or(held.Unit, q.Type.Unit),
		Momentary: held.Momentary,
		Timeline:  line,
	}
	t.Note = r.notes()
	return answered(r, t)
}
