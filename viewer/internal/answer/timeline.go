// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/internal/termtext"
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
	// Names are the values of span_name with the highest sums, highest first.
	Names []string `json:"names"`
	// Buckets are the windows; of very many, neighbours are merged.
	Buckets []sums.Bucket `json:"buckets"`
	// Versions are the profiled versions of the services, in the order of their
	// first window.
	Versions []Version `json:"versions"`
	// Presets are comparisons that people ask for often.
	Presets []Preset `json:"presets,omitempty"`
	// Note is a remark about the time line.
	Note string `json:"note,omitempty"`
}

// Timeline answers what q selects over time.
func (r *Reader) Timeline(q Query) (*Timeline, error) {
	q = r.resolve(q)
	asked := q.store()
	asked.Labels, asked.Steps = sums.TimelineLabels, true
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
		Names:     line.Names,
		Buckets:   line.Buckets,
		Versions:  r.versions(q),
		Presets:   r.presets(q),
	}
	t.Note = r.notes()
	return answered(r, t)
}

// textBuckets bounds the text form, which has the newest buckets.
const textBuckets = 40

// Text returns the time line for a terminal.
func (t *Timeline) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "query    %s\n", termtext.OneLine(t.Query))
	for _, v := range t.Versions {
		fmt.Fprintf(&b, "version  %s\n         %s\n", termtext.OneLine(v.Query), termtext.TimeRange(v.From, v.Until))
	}
	for _, p := range t.Presets {
		p.text(&b)
	}
	if t.Note != "" {
		termtext.Prose(&b, "note", 9, t.Note)
	}
	if len(t.Buckets) == 0 {
		b.WriteString("no window\n")
		return b.String()
	}
	shown := t.Buckets[max(0, len(t.Buckets)-textBuckets):]
	largest := slices.MaxFunc(shown, func(a, b sums.Bucket) int { return cmp.Compare(a.Total(), b.Total()) })
	most := largest.Total()
	when := termtext.NewTimeColumn(shown, func(b sums.Bucket) time.Time { return b.Start })
	fmt.Fprintf(&b, "\n%-*s %8s %11s  %-10s %s\n", when.Width(), when.Title, "lasts", t.Unit, "", "most of it")
	if hidden := len(t.Buckets) - len(shown); hidden > 0 {
		fmt.Fprintf(&b, "%s\n", termtext.Plural(hidden, "older line")+" left out: set from and until")
	}
	for _, bucket := range shown {
		total := bucket.Total()
		top := "-"
		if total > 0 {
			top = "others " + termtext.Percent(bucket.Rest, total)
			if len(bucket.Values) > 0 {
				if i := slices.Index(bucket.Values, slices.Max(bucket.Values)); bucket.Values[i] > bucket.Rest {
					top = termtext.Clip(termtext.OneLine(t.Names[i]), termtext.Columns-when.Width()-42) + " " + termtext.Percent(bucket.Values[i], total)
				}
			}
		}
		fmt.Fprintf(&b, "%s %8s %11s  %s %s\n", when.Format(bucket.Start), termtext.Value(bucket.DurationNs, termtext.Nanoseconds), termtext.Value(total, t.Unit), termtext.Bar(total, most), top)
	}
	return b.String()
}

// Version is a version of a service that was profiled.
type Version struct {
	Service string    `json:"service"`
	Version string    `json:"version"`
	From    time.Time `json:"from"`
	Until   time.Time `json:"until"`
	// Query selects the profile of the version.
	Query string `json:"query"`
}

// versions lists the versions with profiles of the query's type, in the order of their
// first window. Each is asked for with the query's other conditions.
func (r *Reader) versions(asked Query) []Version {
	list := []Version{}
	for _, w := range sums.ByKind(r.allWindows()) {
		if w.Kind != string(asked.Type.Kind) || asked.service != "" && w.Service != asked.service {
			continue
		}
		list = append(list, Version{Service: w.Service, Version: w.Version, From: w.From, Until: w.Until, Query: asked.ofVersion(w.Service, w.Version)})
	}
	return list
}

// ofVersion returns the query for a version of a service.
func (q Query) ofVersion(service, version string) string {
	return q.Without("service_name", "service_version").WithEqual("service_name", service).WithEqual("service_version", version).String()
}
