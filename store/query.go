// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/looks"
	"github.com/spanprof/spanprof/store/internal/segment"
)

// Query selects samples, and how they are summed.
type Query struct {
	// Kind is the kind of the profiles. Without one, the answer has a sum for each kind, of
	// the number of its samples.
	Kind       exporter.Kind
	SampleType string // "cpu", "alloc_space"; empty means the kind's default
	// Matchers must all match. A label that begins with "span." is an attribute of the
	// sample's span, or of its children without a profile. Of several values one must
	// match or, of MatchNotEqual and MatchNotRegexp, all. Only spans with a record match. An
	// equality matcher on profile_id or span_id matches if either label has the value.
	// service_name and service_version are the resource's if a sample has no such label.
	Matchers    []Matcher
	From, Until time.Time // windows that overlap [From, Until); zero means no bound

	// Stacks sums by stack. Labels sums by the values of labels that are no ids. Steps sums
	// by the start of the window. Without any, the answer has one sum. Stacks excludes the
	// others.
	Stacks bool
	Labels []string
	Steps  bool
	// Pprof returns a profile with all sample types and labels in place of sums. IDs keeps
	// the ids in it. Beyond MaxSamples it fails with ErrTooManySamples; 0 means no bound.
	Pprof, IDs bool
	MaxSamples int
}

// MatchOp compares a sample's label with a Matcher's value.
type MatchOp = segment.Op

// The operators of a Matcher. A label that a sample lacks has the value "".
const (
	MatchEqual     = segment.Equal
	MatchNotEqual  = segment.NotEqual
	MatchRegexp    = segment.Regexp
	MatchNotRegexp = segment.NotRegexp
)

// Matcher is a condition on the labels of a sample. The zero Matcher matches every sample. Its
// methods Label, Op and Value return the arguments of NewMatcher, and Matches reports whether a
// value meets it. OnSpan reports whether it is about the span of a sample. ListsIDs reports
// whether it is one id or a list of them.
type Matcher = segment.Matcher

// NewMatcher returns a condition on a label. Regular expressions are RE2 and match the whole
// value, as in PromQL. A list, a|b|c, may have any length, any other expression 1024 bytes.
func NewMatcher(label string, op MatchOp, value string) (Matcher, error) {
	return segment.NewMatcher(label, op, value)
}

// The errors of queries. ErrUnsupported is for sources that are no Store.
var (
	ErrUnknownSampleType = segment.ErrUnknownType
	ErrTooManySamples    = segment.ErrTooMany
	ErrUnsupported       = errors.New("the source cannot answer this query")
)

// Samples is the answer to a Query. Momentary values, such as inuse_space, are of each
// service's latest window with matches, unless the query has Steps.
type Samples struct {
	Kind             exporter.Kind
	SampleType, Unit string // "cpu", "nanoseconds"
	Momentary        bool   // values of several windows must not be added

	Stacks  []StackValue     // of a query with Stacks
	Profile *profile.Profile // of a query with Pprof
	Sums    []Sum            // of any other query

	Total       int64
	Samples     int64     // of heap profiles with Stacks the number of allocation sites
	ProfileIDs  int       // with Stacks, the number of different ones
	SpanNames   []string  // with Stacks, the different ones, sorted, at most 16
	From, Until time.Time // bounds of the windows in the time of the query
	Windows     int
	// Step is the length of the steps of a source that has no windows.
	Step  time.Duration
	Looks *Looks // nil if unknown
}

// Looks are the intervals between the samples of wall profiles.
type Looks = looks.Looks

// StackValue is a stack, the leaf first, and the sum of its samples. The locations must not be
// changed. Equal ones of an answer are the same pointer.
type StackValue struct {
	Stack []*profile.Location
	Value int64
}

// Sum is one sum of an answer.
type Sum struct {
	Kind           exporter.Kind
	Labels         []string  // the values of Query.Labels; must not be changed
	Start          time.Time // of the window, of a query with Steps
	Value, Samples int64     // no Value without Query.Kind
}

// query returns the query of segments.
func (q *Query) query() *segment.Query {
	of := &segment.Query{Kind: q.Kind, Type: q.SampleType, Stacks: q.Stacks, By: q.Labels, Windows: q.Steps}
	of.From, of.Until = bounds(q.From, q.Until)
	of.Matchers = slices.DeleteFunc(slices.Clone(q.Matchers), func(m Matcher) bool { return m.Label() == "" })
	return of
}

// Samples implements View. Few questions over all rows run at a time.
func (v *view) Samples(q Query) (*Samples, error) {
	if err := v.begin(); err != nil {
		return nil, err
	}
	defer v.end()
	s := &Samples{Kind: q.Kind, SampleType: q.SampleType}
	switch of := q.query(); {
	case q.Kind == "":
		kinds, err := v.held.Kinds(v.ctx, of)
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			if n := kinds[kind]; n != 0 {
				s.Sums = append(s.Sums, Sum{Kind: kind, Samples: n})
				s.Samples += n
			}
		}
		return s, err
	case q.Pprof:
		p, err := v.held.Profile(v.ctx, of, !q.IDs, q.MaxSamples)
		s.Profile = p
		return s, err
	default:
		a, err := v.held.Samples(v.ctx, of)
		if err != nil {
			return nil, err
		}
		s.set(a, q.Stacks)
		return s, nil
	}
}

func (s *Samples) set(a *segment.Answer, stacks bool) {
	s.SampleType, s.Unit, s.Momentary = a.Type.Name, a.Type.Unit, a.Type.Momentary()
	s.Total, s.Samples, s.ProfileIDs, s.SpanNames = a.Total, a.Samples, a.ProfileIDs, a.Names
	s.Windows, s.Looks = a.Held, a.Looks
	if a.Held > 0 {
		s.From, s.Until = time.Unix(0, a.From), time.Unix(0, a.Until)
	}
	if !stacks {
		s.Sums = make([]Sum, len(a.Sums))
		for i, sum := range a.Sums {
			s.Sums[i] = Sum{s.Kind, a.Labels[sum.Labels], time.Unix(0, sum.Start), sum.Value, sum.Samples}
		}
		return
	}
	s.Stacks = make([]StackValue, len(a.Sums))
	stack := a.Stacks()
	for i, sum := range a.Sums {
		s.Stacks[i] = StackValue{stack(sum.Stack), sum.Value}
	}
	if s.Kind == exporter.KindHeap {
		s.Samples = int64(len(s.Stacks))
	}
}
