// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
)

const (
	// maxListedNames bounds the names in the query for what a list is about.
	maxListedNames = 50
	// maxNameBytes bounds their bytes.
	maxNameBytes = 8 << 10
)

// listedWork returns the query for the work that a list of spans is about, "" for that of the
// process, and what of the conditions no query of samples can say. spans are those of the list.
func (r *Reader) listedWork(asked store.SpanQuery, spans []store.Span) (query, note string) {
	q := flameql.Query{Type: r.cpuType()}
	var unsaid []string
	if asked.Service != "" {
		q = q.WithEqual("service_name", asked.Service)
	}
	if asked.TraceID != "" {
		q = q.WithEqual(labelkey.TraceID, strings.ToLower(asked.TraceID))
	}
	q = q.With(asked.Attributes...)
	if asked.Name != "" || asked.Contains != "" {
		labels, omitted := r.labelsOf(asked)
		switch {
		case len(labels) == 0:
			unsaid = append(unsaid, textOf(asked))
		case len(labels) == 1:
			q = q.WithEqual(labelkey.SpanName, labels[0])
		default:
			for i := range labels {
				labels[i] = regexp.QuoteMeta(labels[i])
			}
			// Only an expression that is too long can be invalid.
			m, err := store.NewMatcher(labelkey.SpanName, store.MatchRegexp, strings.Join(labels, "|"))
			if err != nil {
				unsaid, labels = append(unsaid, textOf(asked)), nil
				break
			}
			q = q.With(m)
		}
		// A query of samples looks for the text in names alone.
		if len(labels) > 0 && slices.ContainsFunc(spans, func(s store.Span) bool { return !containsText(s.Name, asked.Contains) }) {
			unsaid = append(unsaid, "the text in errors and attributes")
		}
		if omitted > 0 {
			note = termtext.Plural(omitted, "more name") + " left out"
		}
	}
	for _, c := range []struct {
		given bool
		what  string
	}{{asked.OnlyErrors, "errors"}, {asked.MinDuration > 0 || asked.MaxDuration > 0, "the length"}, {asked.Below != "", "what is below a span"}} {
		if c.given {
			unsaid = append(unsaid, c.what)
		}
	}
	if len(unsaid) > 0 {
		note = strings.Join(append(slices.DeleteFunc([]string{note}, func(s string) bool { return s == "" }), "whatever "+strings.Join(unsaid, " and ")), ", ")
	}
	if len(q.Matchers) == 0 {
		return "", note
	}
	return q.String(), note
}

// textOf says what the conditions on names are.
func textOf(asked store.SpanQuery) string {
	switch {
	case asked.Contains == "":
		return "the name"
	case asked.Name == "":
		return "the text"
	}
	return "the name and the text"
}

func containsText(name, text string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(text))
}

// labelsOf returns the labels of samples of the names that a query of spans is about, those
// with most CPU time first, and how many are left out.
func (r *Reader) labelsOf(asked store.SpanQuery) (labels []string, omitted int) {
	bytes := 0
	for _, t := range r.nameTotals() {
		label := t.Label
		if label == "" {
			label = t.Name
		}
		switch {
		case label == "" || !utf8.ValidString(label) || asked.Service != "" && t.Service != asked.Service,
			asked.Name != "" && t.Name != asked.Name,
			!containsText(t.Name, asked.Contains),
			slices.Contains(labels, label):
			continue
		}
		if bytes += len(label); len(labels) == maxListedNames || bytes > maxNameBytes {
			omitted++
			continue
		}
		labels = append(labels, label)
	}
	return labels, omitted
}
