// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"slices"

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
	// Versions compares the newest version with the one before, nil if there is none.
	Versions *Versions `json:"versions,omitempty"`
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
		Versions:  r.versions(q),
	}
	t.Note = r.notes()
	return answered(r, t)
}

// ofVersion returns the query for a version of a service.
func (q Query) ofVersion(service, version string) string {
	return q.Without("service_name", "service_version").WithEqual("service_name", service).WithEqual("service_version", version).String()
}

// Versions is a comparison that is offered beside a time line. Left and Right are queries.
type Versions struct {
	Title string `json:"title"`
	Left  string `json:"left"`
	Right string `json:"right"`
}

// versions compares the newest version of the service with the newest window and the version
// before it. There is none if the source cannot be searched as a whole, or has one version.
func (r *Reader) versions(q Query) *Versions {
	if r.ranged() || r.err != nil {
		return nil
	}
	windows := slices.DeleteFunc(slices.Clone(r.allWindows()), func(w store.WindowInfo) bool {
		return w.Kind != q.Type.Kind || !q.about(w)
	})
	if len(windows) == 0 {
		return nil
	}
	byEnd := func(a, b store.WindowInfo) int { return a.Start.Add(a.Duration).Compare(b.Start.Add(b.Duration)) }
	newest := slices.MaxFunc(windows, byEnd)
	windows = slices.DeleteFunc(windows, func(w store.WindowInfo) bool {
		return w.Service != newest.Service || w.ServiceVersion == newest.ServiceVersion
	})
	if len(windows) == 0 {
		return nil
	}
	left, right := slices.MaxFunc(windows, byEnd).ServiceVersion, newest.ServiceVersion
	return &Versions{
		Title: fmt.Sprintf("Version %s against %s", cmp.Or(right, "(none)"), cmp.Or(left, "(none)")),
		Left:  q.ofVersion(newest.Service, left),
		Right: q.ofVersion(newest.Service, right),
	}
}
