// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/store"
)

const (
	// timelineNames is how many names a bucket tells apart: a strip has no
	// room for more colours than people can tell apart.
	timelineNames = 6
	// maxBuckets bounds the answer. Windows beyond it are added up.
	maxBuckets = 240
)

// timeline is what a query selects over time.
type timeline struct {
	Query   string `json:"query"`
	Measure string `json:"measure"`
	Unit    string `json:"unit"`
	// Momentary says that a value describes a moment, as the heap in use does: it
	// is not to be added to others, or divided by the length of its window.
	Momentary bool `json:"momentary,omitempty"`
	// Names are the values of span_name with the most, in that order.
	Names []string `json:"names"`
	// Buckets are the windows, or where these are many, several each.
	Buckets []timelineBucket `json:"buckets"`
	// Versions are the versions of the services that were profiled, in the
	// order of their first window.
	Versions []versionJSON `json:"versions"`
}

// timelineBucket is a part of the time.
type timelineBucket struct {
	Start      time.Time `json:"start"`
	DurationNs int64     `json:"durationNs"`
	// Values are those of the names, Rest is that of all others and of
	// samples without a name.
	Values []int64 `json:"values"`
	Rest   int64   `json:"rest"`
}

func (b timelineBucket) total() int64 {
	total := b.Rest
	for _, v := range b.Values {
		total += v
	}
	return total
}

// serveTimeline answers what a query selects over time; without a query, the
// CPU of the process.
func (h *handler) serveTimeline(r *http.Request, params url.Values, f format) (response, error) {
	if params.Get("query") == "" {
		params.Set("query", flameQL{typ: profileTypes[0]}.String())
	}
	q, err := h.parseQuery(params, "query", "from", "until")
	if err != nil {
		return response{}, err
	}
	if f == formatHTML {
		// Its script goes on to the page that has this time line.
		return pageResponse(), nil
	}
	leave, err := h.enter(r.Context(), q)
	if err != nil {
		return response{}, err
	}
	defer leave()
	switch f {
	case formatPprof:
		return h.pprof(r.Context(), q)
	case formatFolded:
		return h.folded(r.Context(), q)
	}
	t, err := h.timeline(q)
	if err != nil {
		return response{}, err
	}
	if f == formatText {
		return textResponse(t.text()), nil
	}
	return jsonResponse(t)
}

func (h *handler) timeline(q query) (*timeline, error) {
	held, err := h.store.Timeline(q.store(), timelineNames)
	if err != nil {
		return nil, queryError("time line", q, err)
	}
	t := &timeline{
		Query:     q.String(),
		Measure:   q.typ.words,
		Unit:      cmp.Or(held.Unit, q.typ.unit),
		Momentary: held.Momentary,
		Names:     append([]string{}, held.Names...),
		Buckets:   mergeBuckets(held, maxBuckets),
		Versions:  h.versions(q),
	}
	return t, nil
}

// mergeBuckets adds up as many neighbours as it takes for n buckets at most. Of
// values that describe a moment the last one counts.
func mergeBuckets(held *store.Timeline, n int) []timelineBucket {
	buckets := []timelineBucket{}
	for part := range slices.Chunk(held.Buckets, max(1, (len(held.Buckets)+n-1)/n)) {
		b := timelineBucket{Start: part[0].Start, Values: make([]int64, len(held.Names))}
		for i, w := range part {
			b.DurationNs = max(b.DurationNs, w.Start.Add(w.Duration).Sub(b.Start).Nanoseconds())
			if held.Momentary && i < len(part)-1 {
				continue
			}
			b.Rest += w.Rest
			for i, v := range w.Values {
				b.Values[i] += v
			}
		}
		buckets = append(buckets, b)
	}
	return buckets
}

// textBuckets is how many of the newest buckets the text form has.
const textBuckets = 40

// text is the time line for a terminal.
func (t *timeline) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "query    %s\n", oneLine(t.Query))
	for _, v := range t.Versions {
		fmt.Fprintf(&b, "version  %s\n         %s\n", oneLine(v.Query), textRange(v.From, v.Until))
	}
	if len(t.Buckets) == 0 {
		b.WriteString("no window\n")
		return b.String()
	}
	shown := t.Buckets[max(0, len(t.Buckets)-textBuckets):]
	most := int64(0)
	for _, bucket := range shown {
		most = max(most, bucket.total())
	}
	starts := make([]time.Time, len(shown))
	for i, bucket := range shown {
		starts[i] = bucket.Start
	}
	when := newTimeColumn(starts)
	fmt.Fprintf(&b, "\n%-*s %8s %11s  %-10s %s\n", when.width(), when.title, "lasts", t.Unit, "", "most of it")
	if hidden := len(t.Buckets) - len(shown); hidden > 0 {
		fmt.Fprintf(&b, "%s\n", plural(hidden, "older line")+" left out: set from and until")
	}
	for _, bucket := range shown {
		total := bucket.total()
		top := "-"
		if total > 0 {
			top = "others " + percent(bucket.Rest, total)
			if len(bucket.Values) > 0 {
				if i := slices.Index(bucket.Values, slices.Max(bucket.Values)); bucket.Values[i] > bucket.Rest {
					top = clip(oneLine(t.Names[i]), textColumns-when.width()-42) + " " + percent(bucket.Values[i], total)
				}
			}
		}
		fmt.Fprintf(&b, "%s %8s %11s  %s %s\n", when.format(bucket.Start), formatValue(bucket.DurationNs, unitNanoseconds), formatValue(total, t.Unit), bar(share(total, most)), top)
	}
	return b.String()
}
