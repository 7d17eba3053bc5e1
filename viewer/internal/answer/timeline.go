// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
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
	// Names are the values of span_name with the highest sums, highest first.
	Names []string `json:"names"`
	// Buckets are the windows; of very many, neighbours are merged.
	Buckets []Bucket `json:"buckets"`
	// Versions compares the newest version with the one before, nil if there is none.
	Versions *Versions `json:"versions,omitempty"`
	// Note is a remark about the time line.
	Note string `json:"note,omitempty"`
}

// Bucket is one or more windows. Values are of Names, Rest is of all other samples.
type Bucket struct {
	Start      time.Time `json:"start"`
	DurationNs int64     `json:"durationNs"`
	Values     []int64   `json:"values"`
	Rest       int64     `json:"rest"`
}

// Timeline answers what q selects over time.
func (r *Reader) Timeline(q Query) (*Timeline, error) {
	q = r.resolve(q)
	asked := q.store()
	asked.Labels, asked.Steps = []string{labelkey.SpanName}, true
	held := r.sumsOf("time line", q, asked)
	var windows []store.WindowInfo
	if !r.ranged() {
		windows = windowsIn(r.allWindows(), q.Type.Kind, q.From, q.Until)
	}
	t := newTimeline(held, windows)
	t.merge()
	t.Query, t.Measure, t.Unit = q.String(), q.Type.Words, cmp.Or(held.Unit, q.Type.Unit)
	t.Versions, t.Note = r.versions(q), r.notes()
	return answered(r, t)
}

// newTimeline returns the values of a over time, of the span_names with the most of it. The
// query of a has Steps and the label span_name. The windows are of its kind and time. Windows
// that begin at one moment are one bucket.
func newTimeline(a *store.Samples, windows []store.WindowInfo) *Timeline {
	t := &Timeline{Names: topNames(a), Buckets: []Bucket{}, Momentary: a.Momentary}
	for _, w := range windows {
		t.Buckets = append(t.Buckets, Bucket{Start: w.Start, DurationNs: w.Duration.Nanoseconds()})
	}
	for i, s := range a.Sums { // of kept spans, or of a source without windows
		if i == 0 || !s.Start.Equal(a.Sums[i-1].Start) {
			t.Buckets = append(t.Buckets, Bucket{Start: s.Start, DurationNs: a.Step.Nanoseconds()})
		}
	}
	slices.SortFunc(t.Buckets, func(a, b Bucket) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(b.DurationNs, a.DurationNs))
	})
	t.Buckets = slices.CompactFunc(t.Buckets, func(a, b Bucket) bool { return a.Start.Equal(b.Start) })
	for i := range t.Buckets {
		t.Buckets[i].Values = make([]int64, len(t.Names))
	}
	for _, s := range a.Sums {
		b, _ := slices.BinarySearchFunc(t.Buckets, s.Start, func(b Bucket, start time.Time) int { return b.Start.Compare(start) })
		if name := slices.Index(t.Names, s.Labels[0]); name >= 0 {
			t.Buckets[b].Values[name] += s.Value
		} else {
			t.Buckets[b].Rest += s.Value
		}
	}
	return t
}

func topNames(a *store.Samples) []string {
	totals := make(map[string]int64)
	for _, s := range a.Sums {
		totals[s.Labels[0]] += s.Value
	}
	names := []string{}
	for name, total := range totals {
		if name != "" && total != 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(totals[b], totals[a]), cmp.Compare(a, b)) })
	return names[:min(timelineNames, len(names))]
}

// merge merges neighbours so that there are at most maxBuckets. The last of several momentary
// values counts.
func (t *Timeline) merge() {
	merged := []Bucket{}
	for part := range slices.Chunk(t.Buckets, max(1, (len(t.Buckets)+maxBuckets-1)/maxBuckets)) {
		b := Bucket{Start: part[0].Start, Values: make([]int64, len(t.Names))}
		for i, w := range part {
			b.DurationNs = max(b.DurationNs, w.Start.Sub(b.Start).Nanoseconds()+w.DurationNs)
			if t.Momentary && i < len(part)-1 {
				continue
			}
			b.Rest += w.Rest
			for i, v := range w.Values {
				b.Values[i] += v
			}
		}
		merged = append(merged, b)
	}
	t.Buckets = merged
}

// windowsIn returns the windows of a kind that overlap [from, until); zero times mean no bound.
func windowsIn(windows []store.WindowInfo, kind exporter.Kind, from, until time.Time) (list []store.WindowInfo) {
	for _, w := range windows {
		last := w.Start.Add(w.Duration)
		if w.Duration == 0 {
			last = last.Add(1) // a snapshot
		}
		if w.Kind == kind && (from.IsZero() || last.After(from)) && (until.IsZero() || w.Start.Before(until)) {
			list = append(list, w)
		}
	}
	return list
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
