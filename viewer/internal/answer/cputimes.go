// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"strings"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

const (
	// cpuParts is the number of parts of a span's duration with CPU times: a lane of the
	// page has few more pixels.
	cpuParts = 200
	// textParts is the same for a line of text.
	textParts = 60
)

// CPUTime is the time of CPU samples since the start of the span, their CPU time, and their
// number. Times are in nanoseconds.
type CPUTime [3]int64

func (t CPUTime) after() int64 { return t[0] }
func (t CPUTime) cpu() int64   { return t[1] }

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

// when draws the time of a span as a line. A cell with half of its time or more on a CPU is #,
// with less -, with none a dot. It is empty if the times are unknown.
func (s *Span) when() string {
	if len(s.CPUTimes) == 0 || s.DurationNs <= 0 {
		return ""
	}
	cell := s.DurationNs/textParts + 1
	var cells [textParts]int64
	for _, t := range s.CPUTimes {
		// A sample stands for the time before it.
		rest := t.cpu()
		for i := t.after() / cell; i >= 0 && rest > 0; i-- {
			part := min(rest, cell)
			if i == t.after()/cell {
				part = min(rest, t.after()%cell+1)
			}
			cells[i] += part
			rest -= part
		}
		// What was before the start of the span cannot be its own.
		cells[t.after()/cell] += rest
	}
	var b strings.Builder
	for _, cpu := range cells {
		switch {
		case cpu == 0:
			b.WriteByte('.')
		case cpu < cell/2:
			b.WriteByte('-')
		default:
			b.WriteByte('#')
		}
	}
	return b.String()
}
