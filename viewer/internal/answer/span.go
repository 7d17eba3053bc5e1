// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

// Span is a span in an answer.
type Span struct {
	store.Span
	// Coverage is how much of the span's time the profiles held cover: whole, partial, none
	// or evicted.
	Coverage string `json:"coverage"`
	// CPUTimes is when the CPU samples were taken, in their order: one entry for each
	// 200th of the duration at most. Only the answer to a query has it.
	CPUTimes []CPUTime `json:"cpuTimes,omitempty"`
	// AfterEnd is CPU time that the span caused after its end, in no other number.
	AfterEnd *AfterEnd `json:"afterEnd,omitempty"`
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
	return Span{Span: s, Coverage: s.Coverage.String(), AfterEnd: newAfterEnd(s), Query: q.WithEqual(labelkey.ProfileID, s.ProfileID).String()}
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
	return duration(s.Duration)
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

// afterEnd returns the title of what a span caused after its end, and a note about it.
func (r *Reader) afterEnd(id string) (title, note string) {
	name := id
	if s, ok := r.span(id); ok {
		name = r.newSpan(s).title()
	}
	return "After the end of " + name, fmt.Sprintf("this is what goroutines that the span %s had started did after its end: it is in no other number of the span", termtext.Clip(id, termtext.MaxQuoted))
}

// withTimes returns s with the times of its CPU samples.
func (r *Reader) withTimes(s Span) Span {
	// Work without a span starts with its profile.
	if s.CPUSamples == 0 || s.Manual || s.SummaryMissing {
		return s
	}
	timed, _ := r.spanOf(store.SpanQuery{ID: s.ProfileID, Parts: cpuParts, Brief: true})
	for _, t := range timed.CPUTimes {
		s.CPUTimes = append(s.CPUTimes, CPUTime{t.After.Nanoseconds(), t.CPU.Nanoseconds(), t.Samples})
	}
	return s
}

// processText describes an earlier process in a line.
func processText(p *store.Process) string {
	if p.Started.IsZero() {
		return "one of the earlier processes that are too many to tell apart"
	}
	text := "an earlier process, started " + p.Started.UTC().Format("2006-01-02 15:04:05 MST")
	if p.PID != 0 {
		text += fmt.Sprintf(", pid %d", p.PID)
	}
	if p.Version != "" {
		text += ", version " + termtext.Clip(termtext.OneLine(p.Version), 40)
	}
	return text
}
