// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

// Span is a span in an answer.
type Span struct {
	store.Span
	// Kind is "client", "server" and so on, if spans of the name have several in the list.
	Kind string `json:"kind,omitempty"`
	// Coverage is how much of the span's time the profiles held cover: whole, partial, none
	// or evicted.
	Coverage string `json:"coverage"`
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
	return Span{Span: s, Coverage: s.Coverage.String(), Query: q.WithEqual(labelkey.ProfileID, s.ProfileID).String()}
}

// newSpans returns a list. Spans have a kind where spans of their name have several.
func (r *Reader) newSpans(of []store.Span) []Span {
	list, kinds := make([]Span, len(of)), map[[2]string]map[trace.SpanKind]bool{}
	for i, s := range of {
		list[i] = r.newSpan(s)
		name := [2]string{s.Service, s.Name}
		if kinds[name] == nil {
			kinds[name] = map[trace.SpanKind]bool{}
		}
		kinds[name][s.Kind] = true
	}
	for i, s := range of {
		known := kinds[[2]string{s.Service, s.Name}]
		delete(known, trace.SpanKindUnspecified)
		if len(known) > 1 && known[s.Kind] {
			list[i].Kind = s.Kind.String()
		}
	}
	return list
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

// wall returns the wall time as text. It is not known without a span's summary.
func (s Span) wall() string {
	if s.Manual || s.SummaryMissing {
		return "-"
	}
	return duration(s.Duration)
}

func attributeText(a store.Attribute) string {
	text := termtext.OneLine(a.Key) + "="
	if value := termtext.OneLine(a.Value); strings.ContainsRune(value, ' ') {
		text += strconv.Quote(value)
	} else {
		text += value
	}
	if a.Child != "" {
		text += " (" + termtext.OneLine(a.Child) + ")"
	}
	return text
}

// telling returns the error of the span and the attributes that are not in its name, in one
// line.
func (s Span) telling() string {
	var parts []string
	if s.Status != "" {
		parts = append(parts, "error: "+termtext.OneLine(s.Status))
	}
	for _, a := range s.Attributes {
		if !strings.Contains(s.Name, a.Value) {
			parts = append(parts, attributeText(a))
		}
	}
	if s.AttributesOmitted {
		parts = append(parts, "...")
	}
	return strings.Join(parts, "  ")
}
