// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"encoding/json"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer/internal/sums"
)

// Span is a span in an answer.
type Span struct {
	ProfileID string `json:"profileId"`
	TraceID   string `json:"traceId,omitempty"`
	ParentID  string `json:"parentId,omitempty"`
	Name      string `json:"name"`
	Service   string `json:"service"`
	// Kind is "client", "server" and so on, if spans of the name have several in the list.
	Kind       string    `json:"kind,omitempty"`
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
	// Earlier is set for a span of an earlier process, which has left it in a directory.
	Earlier bool `json:"earlier,omitempty"`
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
		Earlier:           s.Earlier,
		Query:             q.WithEqual(labelkey.ProfileID, s.ProfileID).String(),
	}
}

// nameKinds sets Kind in a list where spans of a name have different kinds.
func nameKinds(list []Span, of []store.Span) {
	kinds := make(map[sums.Name]trace.SpanKind) // of a name, -1 for several
	for i := range of {
		name := sums.Name{Service: of[i].Service, Name: of[i].Name}
		if known, kind := kinds[name], of[i].Kind; known == 0 {
			kinds[name] = kind
		} else if kind != 0 && kind != known {
			kinds[name] = -1
		}
	}
	for i := range of {
		if kinds[sums.Name{Service: of[i].Service, Name: of[i].Name}] < 0 && of[i].Kind != 0 {
			list[i].Kind = of[i].Kind.String()
		}
	}
}

// kind returns what stands behind the name of a span with a kind.
func (s *Span) kind() string {
	if s.Kind == "" {
		return ""
	}
	return " [" + s.Kind + "]"
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

// cpuParts is the number of parts of a span's duration with CPU times: a lane of the page has few
// more pixels.
const cpuParts = 200

// CPUTime is the time of CPU samples since the start of the span, their CPU time, and their
// number. Times are in nanoseconds.
type CPUTime [3]int64

// AfterEnd is the CPU time of goroutines that a span had started, after its end.
type AfterEnd struct {
	CPUNs      int64 `json:"cpuNs"`
	CPUSamples int64 `json:"cpuSamples"`
	// Query selects it.
	Query string `json:"query"`
}

func newAfterEnd(s store.Span) *AfterEnd {
	if s.CPUAfterEndSamples == 0 {
		return nil
	}
	q := flameql.ForService(s.Service)
	q.Type = flameql.CPU
	return &AfterEnd{
		CPUNs:      s.CPUAfterEnd.Nanoseconds(),
		CPUSamples: s.CPUAfterEndSamples,
		Query:      q.WithEqual(labelkey.EndedSpanID, s.ProfileID).String(),
	}
}

// text describes it.
func (a *AfterEnd) text() string {
	return fmt.Sprintf("cpu %s in %s, in goroutines that it had started", termtext.Value(a.CPUNs, termtext.Nanoseconds), termtext.Plural(a.CPUSamples, "sample"))
}

// afterEnd returns the title of what a span caused after its end, and a note about it.
func (r *Reader) afterEnd(id string) (title, note string) {
	name := id
	if s, ok := r.span(id); ok {
		name = r.newSpan(s).title()
	}
	return "After the end of " + name, fmt.Sprintf("this is what goroutines that the span %s had started did after its end: it is in no other number of the span", termtext.Clip(id, termtext.MaxQuoted))
}

// withTimes returns s as answer has it, with the times of its CPU samples.
func (r *Reader) withTimes(answer Span, s store.Span) Span {
	// Work without a span starts with its profile.
	if s.CPUSamples == 0 || s.Manual || s.SummaryMissing {
		return answer
	}
	timed, _ := r.spanOf(store.SpanQuery{ID: s.ProfileID, Parts: cpuParts, Brief: true})
	for _, t := range timed.CPUTimes {
		answer.CPUTimes = append(answer.CPUTimes, CPUTime{t.After.Nanoseconds(), t.CPU.Nanoseconds(), t.Samples})
	}
	return answer
}
