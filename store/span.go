// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/segment"
)

// SpanQuery selects spans by what is not zero. The zero value selects all that have ended.
type SpanQuery struct {
	// ID selects the span or manual exemplar with that profile_id or span_id, also one that
	// runs or has samples only. Other conditions do not count.
	ID                     string
	Name, Service, TraceID string
	Contains               string    // in the name, status or an attribute, ignoring case
	Attributes             []Matcher // on attributes of the span, as in a Query
	Below                  string    // the id of a span above, in this process
	OnlyErrors             bool
	MinDuration            time.Duration // inclusive; leaves manual exemplars out
	From, Until            time.Time     // spans that overlap [From, Until)
	Running                bool          // adds local roots that have not ended
	Requests               bool          // leaves out spans below others of the result
	Sampled                bool          // adds spans by their samples, for a store without records
	Order                  Order
	Limit                  int // 0 means no bound

	// Brief leaves out Attributes, Below, Complete and Coverage.
	Brief bool
	Exact bool // adds ExactTimes
	// Names returns the sums by name in place of spans: of all that ended in the time of the
	// windows held, and of the samples of these windows. No condition counts.
	Names bool
}

// SpanList is the answer to a SpanQuery. Names are by descending CPU time.
type SpanList struct {
	Spans []Span
	Names []NameTotal
}

// Order is an order of spans, each descending.
type Order int

// The orders: by end, by duration, by CPU (CPUInclusive of requests).
const (
	Newest  = Order(segment.Newest)
	Slowest = Order(segment.Slowest)
	MostCPU = Order(segment.MostCPU)
)

// Span is a span, or a manual exemplar: work under a profile_id label of its own, without
// OpenTelemetry. Texts are cut to 1024 bytes.
type Span struct {
	ProfileID string `json:"profileId"` // the span's id in 16 hex digits, or any text
	TraceID   string `json:"traceId,omitempty"`
	ParentID  string `json:"parentId,omitempty"` // may be of another process
	Name      string `json:"name"`               // of a manual exemplar the span_name label
	Service   string `json:"service"`
	// Start and Duration are bounds of windows if the span is Manual or SummaryMissing.
	Start    time.Time      `json:"start"`
	Duration time.Duration  `json:"durationNs"`
	Kind     trace.SpanKind `json:"-"` // SpanKindUnspecified if unknown
	Err      bool           `json:"err"`
	Status   string         `json:"status,omitempty"`
	// Attributes are the span's own, then its children's without a profile. In a list of
	// Requests they are also of the spans below it. More may be omitted.
	Attributes        []Attribute `json:"attributes,omitempty"`
	AttributesOmitted bool        `json:"attributesOmitted,omitempty"`
	LocalRoot         bool        `json:"localRoot"`      // it has no parent in this process
	Running           bool        `json:"running"`        // it has not ended: Duration is its time so far
	Manual            bool        `json:"manual"`         // it is a manual exemplar
	SummaryMissing    bool        `json:"summaryMissing"` // it has samples only

	CPU                time.Duration `json:"cpuNs"` // of the samples held with this id
	CPUSamples         int64         `json:"cpuSamples"`
	CPUInclusive       time.Duration `json:"cpuInclusiveNs"`          // with the spans below it in this process
	CPUAfterEnd        time.Duration `json:"cpuAfterEndNs,omitempty"` // after its end, in no other number
	CPUAfterEndSamples int64         `json:"-"`
	Below              int           `json:"below,omitempty"` // number of spans below it, in a list of Requests
	WallSamples        int64         `json:"wallSamples"`
	SamplesHeld        int64         `json:"samplesHeld"`             // of all kinds
	Label              string        `json:"-"`                       // span_name of the newest samples
	Complete           bool          `json:"complete"`                // no more samples are due
	Coverage           Coverage      `json:"-"`                       // of its time by CPU profiles
	HasExactTimes      bool          `json:"hasExactTimes,omitempty"` // see AddExactTimes
	Earlier            bool          `json:"earlier,omitempty"`       // of an earlier process: see WithDirectory

	// Above is the id of the nearest span above it in this process, among the spans of the
	// answer. It is empty if there is none.
	Above string `json:"-"`
	// ExactTimes is JSON, as exectrace.SpanTimes, of queries with Exact.
	ExactTimes json.RawMessage `json:"exactTimes,omitempty"`
}

// Attribute is an attribute of a span, or of a child by its name. Values are cut to 1024
// bytes. REDACTED replaces credentials.
type Attribute struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Child string `json:"child,omitempty"`
}

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

// NameTotal is the sum of the spans of one name. Label is a span_name label of their samples,
// which may be cut, "other" or an earlier name; empty without samples.
type NameTotal struct {
	Service     string        `json:"service"`
	Name        string        `json:"name"`
	Label       string        `json:"-"`
	Spans       int           `json:"spans"`
	Errors      int           `json:"errors"`
	Duration    time.Duration `json:"wallNs"`
	MaxDuration time.Duration `json:"maxWallNs"`
	CPU         time.Duration `json:"cpuNs"`
	CPUSamples  int64         `json:"-"`
}
