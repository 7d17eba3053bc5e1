// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
)

// ofGo returns true if Go's own profiler took the samples. Frames of an eBPF agent have types. Its
// stacks are not cut by Go's runtime, it
// cuts labels in another way, and it samples services without spans.
func (a *Profile) ofGo() bool { return a.summary.Types() == nil }

// maxNoteNames bounds the names in a sentence.
const maxNoteNames = 3

// labelNote names the spans with samples of the query's span_name, if it is not their name.
func (r *Reader) labelNote(q Query) string {
	label, ok := q.Value(labelkey.SpanName)
	if _, single := q.SpanID(); !ok || label == "" || single {
		return ""
	}
	var names []string
	for _, t := range r.nameTotals() {
		if t.Label == label && t.Name != label && t.Spans > 0 && (q.service == "" || t.Service == q.service) {
			names = append(names, strconv.Quote(termtext.Clip(t.Name, termtext.MaxQuoted)))
		}
	}
	switch more := len(names) - maxNoteNames; {
	case len(names) == 0:
		return ""
	case len(names) == 1:
		return "samples of spans named " + names[0] + " carry this span_name"
	case more > 0:
		return fmt.Sprintf("samples of spans of %d other names carry this span_name: %s and %d more", len(names), strings.Join(names[:maxNoteNames], ", "), more)
	}
	return fmt.Sprintf("samples of spans of %d other names carry this span_name: %s", len(names), strings.Join(names, ", "))
}

// services are the names of services in alphabetical order. A process has one, but a
// store may take in profiles of several.
type services []string

// several reports whether there is work of several services.
func (s services) several() bool { return len(s) > 1 }

// among reports whether name is one of several services.
func (s services) among(name string) bool { return s.several() && slices.Contains(s, name) }

// query returns the query for the CPU time of a service.
func (s services) query(name string) flameql.Query {
	q := flameql.ForService(name)
	if q.App == "" && s.among(name) {
		// FlameQL cannot spell the name.
		return q.WithEqual("service_name", name)
	}
	return q
}
