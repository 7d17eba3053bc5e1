// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/looks"
	"github.com/spanprof/spanprof/store/internal/segment"
)

// Query selects samples.
type Query struct {
	Kind       exporter.Kind
	SampleType string // "cpu", "alloc_space"; empty means the kind's default
	// Matchers must all match. A label that begins with "span." is an attribute of the
	// sample's span, or of its children without a profile. Of several values one must
	// match or, of MatchNotEqual and MatchNotRegexp, all. in_span_name, with MatchEqual
	// alone, matches the samples of spans with this name, and of all spans below them.
	// Only spans with a record match either. An equality matcher on profile_id or span_id
	// matches if either label has the value. service_name and service_version are the
	// resource's if a sample has no such label.
	Matchers    []Matcher
	From, Until time.Time // windows that overlap [From, Until); zero means no bound
	WithoutIDs  bool      // leaves ids out of the answer of Profile, which gets smaller
	MaxSamples  int       // beyond it Profile fails with ErrTooManySamples; 0 means no bound
}

// MatchOp compares a sample's label with a Matcher's value.
type MatchOp int

// The operators of a Matcher. A label that a sample lacks has the value "".
const (
	MatchEqual     = MatchOp(segment.Equal)
	MatchNotEqual  = MatchOp(segment.NotEqual)
	MatchRegexp    = MatchOp(segment.Regexp)
	MatchNotRegexp = MatchOp(segment.NotRegexp)
)

// Matcher is a condition on the labels of a sample. The zero Matcher matches every sample.
type Matcher struct{ m segment.Matcher }

// NewMatcher returns a condition on a label. Regular expressions are RE2 and match the whole
// value, as in PromQL. A list, a|b|c, may have any length, any other expression 1024 bytes.
func NewMatcher(label string, op MatchOp, value string) (Matcher, error) {
	m, err := segment.NewMatcher(label, segment.Op(op), value)
	return Matcher{m}, err
}

// SpanAttribute returns the key of an attribute if the label begins with "span.".
func (m Matcher) SpanAttribute() (key string, ok bool) { return m.m.Attribute() }

// OnSpan reports whether the matcher is about the span of a sample, not about its labels.
func (m Matcher) OnSpan() bool { return m.m.OnSpan() }

// Label returns the name of the label.
func (m Matcher) Label() string { return m.m.Label }

// Op returns the operator.
func (m Matcher) Op() MatchOp { return MatchOp(m.m.Op) }

// Value returns what the label is compared with.
func (m Matcher) Value() string { return m.m.Value }

// Matches reports whether a label with the value meets the condition.
func (m Matcher) Matches(value string) bool { return m.m.Matches(value) }

// ListsIDs reports whether the matcher is one id, or a list of them.
func (m Matcher) ListsIDs() bool { return m.m.ListsIDs() }

// The errors of queries. ErrUnsupported is for sources that are no Store.
var (
	ErrUnknownSampleType = segment.ErrUnknownType
	ErrTooManySamples    = segment.ErrTooMany
	ErrUnsupported       = errors.New("the source cannot answer this query")
)

// Selection is the samples of a Query, summed by stack.
type Selection struct {
	Kind             exporter.Kind
	SampleType, Unit string // "cpu", "nanoseconds"
	Stacks           []StackValue
	Total            int64
	Samples          int64     // of heap profiles the number of allocation sites
	ProfileIDs       int       // the number of different ones
	SpanNames        []string  // the different ones, sorted, at most 16
	From, Until      time.Time // bounds of the windows in the time of the query
	Windows          int
	// Looks are the intervals between the samples of wall profiles, nil if unknown.
	// LooksLength is the length of all windows of their services.
	Looks       *Looks
	LooksLength time.Duration
}

// Looks are the intervals between the samples of wall profiles.
type Looks = looks.Looks

// StackValue is a stack, the leaf first, and the sum of its samples. The locations must not be
// changed. Equal ones of an answer are the same pointer.
type StackValue struct {
	Stack []*profile.Location
	Value int64
}

// Timeline is a value over time, by the name of its span.
type Timeline struct {
	SampleType, Unit string
	Momentary        bool     // values of several buckets must not be added
	Names            []string // by descending value
	Buckets          []TimelineBucket
}

// TimelineBucket is the windows that began at one moment. Rest is the value of all samples
// without one of Names. Momentary values are of all services at that time.
type TimelineBucket struct {
	Start    time.Time
	Duration time.Duration
	Values   []int64
	Rest     int64
}

// KindTotal is the samples of a kind that a query selects, and the windows with any.
type KindTotal struct {
	Kind    exporter.Kind
	Samples int64
	Windows int
}

// WindowQuery selects windows by what is not zero.
type WindowQuery struct {
	Kind        exporter.Kind
	Service     string
	From, Until time.Time
}

// WindowInfo is a profile that is held.
type WindowInfo struct {
	Kind                    exporter.Kind
	Service, ServiceVersion string
	Start                   time.Time
	Duration                time.Duration // 0 for a snapshot
	Samples, Bytes          int64
	Kernel                  bool     // an eBPF agent took it
	Earlier                 *Process // nil for this process
}

// NameTotal is the sum of the spans of one name. Label is a span_name label of their samples,
// which may be cut, "other" or an earlier name; empty without samples.
type NameTotal struct {
	Service, Name, Label  string
	Spans, Errors         int
	Duration, MaxDuration time.Duration
	CPU                   time.Duration
	CPUSamples            int64
}

// NameSpread is the sum of the spans of one name that have a record. CPUInclusive adds the
// CPU time of the spans below them, and each span below one of its own name once.
type NameSpread struct {
	Service, Name, Label        string
	Spans, Errors               int
	Duration, CPU, CPUInclusive time.Duration
	Durations, CPUs             Spread // CPUs with the spans below each
}

// Spread is a distribution of times. Octaves counts the times from 2^i up to 2^(i+1)
// nanoseconds at i, and 0 at the first.
type Spread struct {
	Count         int
	P50, P95, Max time.Duration
	Octaves       []int
}

// LabelTotal is the value of the samples with one span_name label in one service.
type LabelTotal struct {
	Service, Label string
	Value          int64
}

// AttributeKey is a key of attributes, and the number of spans that have it.
type AttributeKey struct {
	Key   string
	Spans int
}

// AttributeTotal is the sum of the spans with one value of an attribute. Shared is set if one
// of the spans has other values too, or has this one from a child.
type AttributeTotal struct {
	Value                 string
	Spans, Errors         int
	Duration, MaxDuration time.Duration
	CPU                   time.Duration
	Shared                bool
}

// CPUTime is CPU time of a span at a time after its start.
type CPUTime struct {
	After, CPU time.Duration
	Samples    int64
}

// Span is a span, or a manual exemplar: work under a profile_id label of its own, without
// OpenTelemetry. Texts are cut to 1024 bytes.
type Span struct {
	ProfileID         string // the span's id in 16 hex digits, or any text
	TraceID, ParentID string // empty if absent; ParentID may be of another process
	Name, Service     string // of a manual exemplar the span_name label
	// Start and Duration are bounds of windows if the span is Manual or SummaryMissing.
	Start    time.Time
	Duration time.Duration
	Err      bool
	Status   string
	// Attributes are the span's own, then its children's without a profile. In a list of
	// Requests they are also of the spans below it. More may be omitted.
	Attributes        []Attribute
	AttributesOmitted bool
	LocalRoot         bool // it has no parent in this process
	Running           bool // it has not ended: Duration is its time so far
	Manual            bool
	SummaryMissing    bool // it has samples only

	CPU                time.Duration // of the samples held with this id
	CPUSamples         int64
	CPUInclusive       time.Duration // with the spans below it in this process
	CPUAfterEnd        time.Duration // after its end, in no other number
	CPUAfterEndSamples int64
	Below              int // number of spans below it, in a list of Requests
	WallSamples        int64
	SamplesHeld        int64    // of all kinds
	Label              string   // span_name of the newest samples
	Complete           bool     // no more samples are due
	Coverage           Coverage // of its time by CPU profiles
	ExactTimes         bool     // see Exact
	Earlier            *Process // nil for this process
}

// Attribute is an attribute of a span, or of a child by its name. Values are cut to 1024
// bytes. REDACTED replaces credentials.
type Attribute struct{ Key, Value, Child string }

// Coverage is how much of the time of a span CPU profiles cover, as far as they arrived.
type Coverage int

// The coverages. Evicted means that samples may be missing, or that the time is unknown.
const (
	CoverageWhole   = Coverage(segment.Whole)
	CoveragePartial = Coverage(segment.Partial)
	CoverageNone    = Coverage(segment.None)
	CoverageEvicted = Coverage(segment.Evicted)
)

// String returns "whole", "partial", "none" or "evicted".
func (c Coverage) String() string {
	return []string{"whole", "partial", "none", "evicted"}[c]
}

// Process is a process that left files; see WithDirectory. Texts are empty if unknown.
type Process struct {
	Started          time.Time
	PID              int
	Service, Version string
}

// SpanQuery selects spans by what is not zero. The zero value selects all that have ended.
type SpanQuery struct {
	Name, Service, TraceID string
	Contains               string    // in the name, status or an attribute, ignoring case
	Attributes             []Matcher // on attributes of the span, as in a Query
	Below                  string    // the id of a span above, in this process
	OnlyErrors             bool
	// MinDuration and MaxDuration are inclusive, and leave manual exemplars out.
	MinDuration, MaxDuration time.Duration
	From, Until              time.Time // spans that overlap [From, Until)
	Running                  bool      // adds local roots that have not ended
	Requests                 bool      // leaves out spans below others of the result
	Order                    Order
	Limit                    int // 0 means no bound
}

// Order is an order of spans, each descending.
type Order int

// The orders: by end, by duration, by CPU (CPUInclusive of requests).
const (
	Newest  = Order(segment.Newest)
	Slowest = Order(segment.Slowest)
	MostCPU = Order(segment.MostCPU)
)
