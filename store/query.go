// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/filter"
	"github.com/spanprof/spanprof/store/internal/samples"
)

// MatchOp compares a sample's label with a Matcher's value.
type MatchOp int

// The operators of a Matcher. A label that a sample lacks has the value "".
const (
	MatchEqual     = MatchOp(filter.Equal)
	MatchNotEqual  = MatchOp(filter.NotEqual)
	MatchRegexp    = MatchOp(filter.Regexp)
	MatchNotRegexp = MatchOp(filter.NotRegexp)
)

// Query selects samples.
type Query struct {
	// Kind selects the profiles' kind.
	Kind exporter.Kind
	// SampleType names the value to return, "cpu" or "alloc_space" say;
	// empty means the kind's default type.
	SampleType string
	// Matchers must all match a sample's labels or, where the label begins with
	// "span.", an attribute of the sample's span: "span.http.route" matches the
	// samples of spans that have this attribute with a value that matches. Only
	// spans with a record match. An attribute that a span lacks is that of the
	// nearest span above it in this process that has it, and "" if none does; of
	// several values, as those of children, one must match or, of MatchNotEqual and
	// MatchNotRegexp, all. The label in_span_name, with MatchEqual alone, matches the
	// samples of spans with a record that have this name, and those of all spans below
	// them in this process. service_name and
	// service_version are those of the profile's resource where a sample has
	// no such label of its own. An equality matcher on
	// profile_id or span_id matches a sample where either label has the
	// value: a sample where they differ belongs to both. MatchNotEqual
	// matches where neither has it. The empty value asks about the one
	// label. Of a label with several values the first counts, and a number
	// compares as its decimal digits.
	Matchers []Matcher
	// From and Until select the windows that overlap [From, Until); a
	// zero time leaves that side open.
	From, Until time.Time
	// WithoutIDs leaves the labels profile_id, span_id, trace_id and ended_span_id out
	// of what Profile returns: samples that differ in nothing else are summed. A
	// profile of many spans is much smaller that way.
	WithoutIDs bool
	// MaxSamples bounds the number of samples that Profile returns, which are
	// the different stacks with different labels: it fails with
	// ErrTooManySamples where there are more. 0 means no bound.
	MaxSamples int
}

// Matcher is one condition on the labels of a sample; NewMatcher makes it. The
// zero Matcher matches every sample.
type Matcher struct{ condition filter.Condition }

// NewMatcher returns a condition on a label. Regular expressions are RE2 and
// match the whole value, as they do in PromQL. A list of values, a|b|c, may be of
// any length and is looked up at once; any other expression on an id must not be
// long, as it is tried on all ids. The error says what is wrong with the
// expression, or that there is no such operator.
func NewMatcher(label string, op MatchOp, value string) (Matcher, error) {
	c, err := filter.NewCondition(label, filter.Op(op), value)
	return Matcher{c}, err
}

// SpanAttribute returns the key of the attribute that the matcher is about, and whether
// it is about one: its label begins with "span.".
func (m Matcher) SpanAttribute() (key string, ok bool) { return m.condition.Attribute() }

// OnSpan reports whether the matcher is about the span of a sample, not about its labels: an
// attribute, or in_span_name.
func (m Matcher) OnSpan() bool {
	_, ok := m.condition.Attribute()
	return ok || m.condition.InSpan()
}

// Label returns the name of the label.
func (m Matcher) Label() string { return m.condition.Label() }

// Op returns the operator.
func (m Matcher) Op() MatchOp { return MatchOp(m.condition.Op()) }

// Matches reports whether a label with the value meets the condition.
func (m Matcher) Matches(value string) bool { return m.condition.MatchesAll([]string{value}) }

// Value returns what the label is compared with.
func (m Matcher) Value() string { return m.condition.Value() }

// ListsIDs says whether the matcher lists the ids of what matches: as one value of
// profile_id, span_id, trace_id or ended_span_id, or as a regular expression that is a
// list of them. What lacks the label never matches it.
func (m Matcher) ListsIDs() bool { return m.condition.ListsIDs() }

// found is what a Query found: immutable data, to be read without a lock.
type found struct {
	// windows are those of the kind that overlap the query's time, after what
	// is kept of older ones and matches.
	windows []*window
	matches []match
	// types are the value types of the kind in all windows held, those of
	// the newest window first, and selected is the one of the query.
	types    []samples.ValueType
	selected samples.ValueType
	// newest is the latest window of each service that has any of the matches.
	newest map[string]*window
}

// find answers q. The error is about its SampleType, or the context's.
func (v *view) find(q Query) (found, error) {
	if err := v.ctx.Err(); err != nil {
		return found{}, err
	}
	types, standard := typesOf(slices.Concat(v.kept, v.windows), q.Kind)
	f := found{types: types, newest: make(map[string]*window)}
	if len(types) == 0 {
		f.selected.Name = q.SampleType
		return f, nil
	}
	var err error
	if f.selected, err = selectType(types, cmp.Or(q.SampleType, standard), q.Kind); err != nil {
		return found{}, err
	}
	if f.matches, err = v.matches(&q, q.Kind); err != nil {
		return found{}, err
	}
	for i := range f.matches {
		w := f.matches[i].window
		if newest := f.newest[w.Service]; newest == nil || w.newer(newest) {
			f.newest[w.Service] = w
		}
		if w.Kept {
			f.windows = append(f.windows, w)
		}
	}
	for _, w := range v.windows {
		if w.Kind == q.Kind && w.Overlaps(q.From, q.Until) {
			f.windows = append(f.windows, w)
		}
	}
	return f, nil
}

// match is the groups of one window that a query selects; there is one at least.
type match struct {
	window *window
	filter.Match
}

// matches returns what q selects in the windows of a kind, "" for all kinds, and of
// its time. A query that lists ids, or names attributes, finds what is kept of older
// windows too. The error is about the price of its expressions, or the context's.
func (v *view) matches(q *Query, kind exporter.Kind) (matches []match, err error) {
	if err := v.pay(q, kind); err != nil {
		return nil, err
	}
	f := q.filter(v.tried)
	f.Until(v.ended)
	if spans := v.spansWith(q.Matchers); spans != nil {
		f.OfSpans(spans)
	}
	look := func(windows []*window) {
		for _, w := range windows {
			if kind != "" && w.Kind != kind || !w.Overlaps(q.From, q.Until) {
				continue
			}
			if v.ended() {
				return
			}
			if m, ok := f.Match(&w.Window); ok {
				matches = append(matches, match{w, m})
			}
		}
	}
	if f.SelectsSpans() {
		look(v.kept)
	}
	look(v.windows)
	return matches, v.ctx.Err()
}

// filter returns the conditions of q, but for those on spans. tried has what they have
// matched.
func (q *Query) filter(tried func(*Matcher) *filter.Tried) *filter.Filter {
	f := filter.New()
	for i := range q.Matchers {
		m := &q.Matchers[i]
		if !m.OnSpan() {
			f.Add(m.condition, tried(m))
		}
	}
	return f
}

// column returns where a window has the values of a type, -1 where it has none
// that count.
func (f *found) column(w *window, t samples.ValueType) int {
	if t.Momentary() && f.newest[w.Service] != w {
		return -1
	}
	return w.Column(t)
}

// looks returns the intervals between those of the windows with matches, and of those next
// to them: a span may begin or end there, unseen. It returns the times without any of all
// windows of the services with matches, and the sum of these windows' lengths.
func (f *found) looks() (all *Looks, length time.Duration) {
	var known []*Looks
	matched, merged := make(map[*window]bool, len(f.matches)), make(map[*window]bool)
	for i := range f.matches {
		matched[f.matches[i].window] = true
	}
	before := make(map[string]*window) // the last one of each service
	for _, w := range f.windows {
		if w.Looks == nil {
			continue
		}
		if all == nil {
			all = new(Looks)
		}
		if len(f.newest) == 0 || f.newest[w.Service] != nil {
			known = append(known, w.Looks)
			length += w.End.Sub(w.Start)
		}
		near := []*window{before[w.Service], w}
		before[w.Service] = w
		if !matched[near[0]] && !matched[w] {
			continue
		}
		for _, w := range near {
			if w != nil && !merged[w] {
				merged[w] = true
				all.Merge(w.Looks)
			}
		}
	}
	if all != nil {
		all.MergeGaps(known...)
	}
	return all, length
}

// bounds returns the time that the windows span.
func (f *found) bounds() (from, until time.Time) {
	for i, w := range f.windows {
		if i == 0 || w.Start.Before(from) {
			from = w.Start
		}
		if i == 0 || w.End.After(until) {
			until = w.End
		}
	}
	return from, until
}

// ErrUnknownSampleType is returned by Select, Profile and Timeline of a
// [View] for a SampleType that no profile held of the kind has.
var ErrUnknownSampleType = errors.New("unknown sample type")

// ErrUnsupported is returned by the queries of a [View] whose source cannot answer a query
// of this form. A Store answers all.
var ErrUnsupported = errors.New("the source cannot answer this query")

// typesOf returns the value types of a kind, those of the newest window first, and
// the name of the type to show: the one that the newest profile names, or its last
// one, as pprof does.
func typesOf(windows []*window, kind exporter.Kind) (types []samples.ValueType, standard string) {
	for _, w := range slices.Backward(windows) {
		if w.Kind != kind || len(w.Types) == 0 {
			continue
		}
		if len(types) == 0 {
			standard = w.Types[len(w.Types)-1].Name
			if slices.ContainsFunc(w.Types, func(t samples.ValueType) bool { return t.Name == w.DefaultType }) {
				standard = w.DefaultType
			}
		}
		for _, t := range w.Types {
			if !slices.Contains(types, t) {
				types = append(types, t)
			}
		}
	}
	return types, standard
}

// selectType returns the first of types with a name.
func selectType(types []samples.ValueType, name string, kind exporter.Kind) (samples.ValueType, error) {
	if i := slices.IndexFunc(types, func(t samples.ValueType) bool { return t.Name == name }); i >= 0 {
		return types[i], nil
	}
	var names []string
	for _, t := range types {
		if !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	return samples.ValueType{}, fmt.Errorf("store: %s profiles: %w %q: use one of %s", kind, ErrUnknownSampleType, name, strings.Join(names, ", "))
}
