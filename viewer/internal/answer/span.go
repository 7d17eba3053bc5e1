// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"encoding/json"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

// Span is a span in an answer.
type Span struct {
	ProfileID  string    `json:"profileId"`
	TraceID    string    `json:"traceId,omitempty"`
	ParentID   string    `json:"parentId,omitempty"`
	Name       string    `json:"name"`
	Service    string    `json:"service"`
	Start      time.Time `json:"start"`
	DurationNs int64     `json:"durationNs"`
	CPUNs      int64     `json:"cpuNs"`
	CPUSamples int64     `json:"cpuSamples"`
	// CPUInclusiveNs adds the CPU time of the spans below it in this process,
	// where these have profiles of their own.
	CPUInclusiveNs int64 `json:"cpuInclusiveNs"`
	// CPUTimes is when the CPU samples were taken, in their order: one entry for each
	// 200th of the duration at most. Only the answer to a query has it.
	CPUTimes []CPUTime `json:"cpuTimes,omitempty"`
	// HasExactTimes is set if an execution trace has its times. ExactTimes has them, only in
	// the answer to a query.
	HasExactTimes bool            `json:"hasExactTimes,omitempty"`
	ExactTimes    json.RawMessage `json:"exactTimes,omitempty"`
	// AfterEnd is CPU time that the span caused after its end, in no other number.
	AfterEnd    *AfterEnd `json:"afterEnd,omitempty"`
	WallSamples int64     `json:"wallSamples"`
	// SamplesHeld is the number of samples of all kinds that are held. If it is
	// 0 and CPUSamples is not, the profile was evicted.
	SamplesHeld int64 `json:"samplesHeld"`
	// Running is set if the span has not ended: DurationNs is its time so far.
	Running bool   `json:"running"`
	Err     bool   `json:"err"`
	Status  string `json:"status,omitempty"`
	// Attributes are the span's own, then its children's without a profile. In the answer
	// to a query they are also of all spans below it. AttributesOmitted is set if some were
	// left out or not read.
	Attributes        []Attribute `json:"attributes,omitempty"`
	AttributesOmitted bool        `json:"attributesOmitted,omitempty"`
	// Below is the number of spans with records below it, in the list of spans.
	Below     int  `json:"below,omitempty"`
	Manual    bool `json:"manual"`
	LocalRoot bool `json:"localRoot"`
	// SummaryMissing is set if only samples of the span are known: Start and DurationNs are
	// of their profiles.
	SummaryMissing bool `json:"summaryMissing"`
	Complete       bool `json:"complete"`
	// Coverage is how much of the span's time the profiles held cover: whole, partial, none
	// or evicted.
	Coverage string `json:"coverage"`
	// Earlier is the earlier process that the span is of, which has left it in a
	// directory; it is left out for this process.
	Earlier *EarlierProcess `json:"earlier,omitempty"`
	// Query selects the span's CPU profile or, if it has no samples there, its wall
	// or its host profile.
	Query string `json:"query"`
}

func (r *Reader) newSpan(s store.Span) Span {
	q := flameql.ForService(s.Service)
	switch {
	case s.CPUSamples > 0:
	case s.WallSamples > 0:
		q.Type = flameql.Wall
	case s.SamplesHeld > 0 && r.has(exporter.KindHost):
		q.Type = flameql.Host
	default:
		q.Type = r.cpuType()
	}
	return Span{
		ProfileID:         s.ProfileID,
		TraceID:           s.TraceID,
		ParentID:          s.ParentID,
		Name:              s.Name,
		Service:           s.Service,
		Start:             s.Start,
		DurationNs:        s.Duration.Nanoseconds(),
		CPUNs:             s.CPU.Nanoseconds(),
		CPUSamples:        s.CPUSamples,
		CPUInclusiveNs:    s.CPUInclusive.Nanoseconds(),
		AfterEnd:          newAfterEnd(s),
		HasExactTimes:     s.HasExactTimes,
		WallSamples:       s.WallSamples,
		SamplesHeld:       s.SamplesHeld,
		Running:           s.Running,
		Err:               s.Err,
		Status:            s.Status,
		Attributes:        newAttributes(s.Attributes),
		AttributesOmitted: s.AttributesOmitted,
		Below:             s.Below,
		Manual:            s.Manual,
		LocalRoot:         s.LocalRoot,
		SummaryMissing:    s.SummaryMissing,
		Complete:          s.Complete,
		Coverage:          s.Coverage.String(),
		Earlier:           newEarlierProcess(s.Earlier),
		Query:             q.WithEqual(labelkey.ProfileID, s.ProfileID).String(),
	}
}

// title returns what the span is shown as. Work without a span is shown by the id
// that the program gave it.
func (s Span) title() string {
	switch {
	case s.Name != "":
		return s.Name
	case s.Manual || s.SummaryMissing:
		return s.ProfileID
	}
	return "(unnamed)"
}

// name returns what a list shows beside the id.
func (s Span) name() string {
	if title := s.title(); title != s.ProfileID {
		return title
	}
	return "(no span)"
}

// wall returns the wall time as text. It is not known without a span's summary.
func (s Span) wall() string {
	if s.Manual || s.SummaryMissing {
		return "-"
	}
	return termtext.Value(s.DurationNs, termtext.Nanoseconds)
}
