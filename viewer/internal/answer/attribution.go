// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

// Attribution says by what the samples of a host profile are known to be their spans',
// and how many of the same time may be any span's. The eBPF agent's labels alone do not
// tell: see package ebpfbridge/receiver.
type Attribution struct {
	// Witnesses are those of the samples selected, the one of most samples first.
	Witnesses []Witness `json:"witnesses"`
	// Ambiguous is the value of the samples that may be any span's, in the profiles
	// that cover the time of the span, or of the query. They are in no span's profile.
	Ambiguous        int64 `json:"ambiguous"`
	AmbiguousSamples int64 `json:"ambiguousSamples"`
}

// Witness is what makes the span of samples certain.
type Witness struct {
	// Name is the value of the samples' label span_attribution.
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
	Samples int64  `json:"samples"`
}

var witnesses = []Witness{
	{Name: labelkey.First, Meaning: "by being the first of their record"},
	{Name: labelkey.ByLabels, Meaning: "by the labels of an agent that tells records apart by them"},
	{Name: labelkey.ByLink, Meaning: "by the Link of their record"},
	{Name: labelkey.ByTimeline, Meaning: "by an execution trace of what ran on their thread"},
}

// attribution returns nil for other profiles than those of an eBPF agent, and for those
// that nobody has given to spans.
func (r *Reader) attribution(q Query, span *Span) *Attribution {
	if !r.ofHost(q) {
		return nil
	}
	a := &Attribution{Witnesses: []Witness{}}
	for _, w := range witnesses {
		if w.Samples = r.samples(q, w.Name); w.Samples > 0 {
			a.Witnesses = append(a.Witnesses, w)
		}
	}
	slices.SortStableFunc(a.Witnesses, func(x, y Witness) int { return cmp.Compare(y.Samples, x.Samples) })
	unclear := q.unclear(span)
	if span != nil && r.services().among(span.Service) {
		unclear.service = span.Service
	}
	if a.AmbiguousSamples = r.samples(unclear, labelkey.Ambiguous); a.AmbiguousSamples > 0 {
		unclear.Query = unclear.WithEqual(labelkey.SpanAttribution, labelkey.Ambiguous)
		a.Ambiguous = r.selection(unclear).Total
	}
	if len(a.Witnesses) == 0 && a.AmbiguousSamples == 0 {
		return nil
	}
	return a
}

// unclear returns the query for what may belong to what q selects: all of the same
// process and time.
func (q Query) unclear(span *Span) Query {
	q.Matchers = slices.DeleteFunc(slices.Clone(q.Matchers), func(m store.Matcher) bool {
		return !slices.Contains([]string{"service_name", "service_version", labelkey.Process}, m.Label())
	})
	if span != nil {
		if q.From.Before(span.Start) {
			q.From = span.Start
		}
		end := span.Start.Add(time.Duration(span.DurationNs) + 1) // itself included
		if q.Until.IsZero() || q.Until.After(end) {
			q.Until = end
		}
	}
	return q
}

// samples returns the number of samples of q's kind that it selects with an attribution.
func (r *Reader) samples(q Query, attribution string) int64 {
	q.Query = q.WithEqual(labelkey.SpanAttribution, attribution)
	for _, t := range r.totals(q) {
		if t.Kind == q.Type.Kind {
			return t.Samples
		}
	}
	return 0
}

// note says the same in words. single says that the query is for one span.
func (a *Attribution) note(single bool, unit string) string {
	if a == nil {
		return ""
	}
	var parts []string
	for _, w := range a.Witnesses {
		parts = append(parts, termtext.Plural(w.Samples, "sample")+" "+w.Meaning)
	}
	text := ""
	if len(parts) > 0 {
		text = "the span is certain for " + strings.Join(parts, ", ")
	}
	if a.AmbiguousSamples == 0 {
		return text
	}
	where, whose := "of this time", "any span's"
	if single {
		where, whose = "of the profiles that cover this span's time", "its own or another span's"
	}
	if text != "" {
		text += "; "
	}
	return text + fmt.Sprintf("%s %s (%s) may be %s, and no span has them", termtext.Plural(a.AmbiguousSamples, "sample"), where, termtext.Value(a.Ambiguous, unit), whose)
}
