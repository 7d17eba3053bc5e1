// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

// labelNames counts the names of spans whose samples carry a span_name. There may
// be several: spans are renamed after their labels were set, as routers do, names
// are cut, and very many become "other".
type labelNames map[serviceLabel]int

type serviceLabel struct{ service, label string }

func newLabelNames(totals []store.NameTotal) labelNames {
	names := labelNames{}
	for _, t := range totals {
		// The name that a span had before has samples, but no span.
		if t.Spans > 0 {
			names[serviceLabel{t.Service, t.Label}]++
		}
	}
	return names
}

// maxNoteNames is how many names a sentence has room for.
const maxNoteNames = 3

// labelNote tells whose work a query for a span_name selects, where spans have
// other names than that.
func (h *handler) labelNote(q query) string {
	label, ok := q.value(labelkey.SpanName)
	if _, single := q.spanID(); !ok || label == "" || single {
		return ""
	}
	var names []string
	for _, t := range h.store.NameTotals() {
		if t.Label == label && t.Name != label && t.Spans > 0 && (q.service == "" || t.Service == q.service) {
			names = append(names, strconv.Quote(clip(t.Name, maxQuoted)))
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
