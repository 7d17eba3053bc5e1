// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer/internal/sums"
)

const (
	// maxAttributeKeys bounds the keys in a list, maxAttributeValues the values of one key.
	maxAttributeKeys   = 32
	maxAttributeValues = 500
	// newestSpans is the number of spans with the keys that are offered.
	newestSpans = 1000
)

// spanAttribute begins the label of a condition on an attribute.
const spanAttribute = "span."

// ByAttribute sums the spans that are held by the values of one attribute.
type ByAttribute struct {
	Key string `json:"key"`
	// Values have those with most CPU time first; ValuesOmitted is the number of those
	// left out.
	Values        []Name `json:"values"`
	ValuesOmitted int    `json:"valuesOmitted,omitempty"`
	// Note is a remark about the sums, or the reason why there are none.
	Note string `json:"note,omitempty"`
}

// attributes fills in the keys of attributes and the sums by one of them, if the source has
// any.
func (l *SpanList) attributes(r *Reader, by string) {
	if r.records() {
		keys := sums.AttributeKeys(r.spans(store.SpanQuery{Limit: newestSpans}))
		l.AttributeKeys = keys[:min(len(keys), maxAttributeKeys)]
	}
	if by == "" {
		return
	}
	l.By = &ByAttribute{Key: by, Values: []Name{}}
	if !r.records() {
		l.By.Note = "the profiles here know no attributes of spans: conditions on span.… need the records of a running program"
		return
	}
	values, shared := sums.AttributeSpreads(r.spans(store.SpanQuery{}), by)
	switch {
	case len(values) == 0:
		l.By.Note = "no span that is held has this attribute"
	case shared:
		l.By.Note = "these are the times of whole requests: a request counts for each value that it has; for the time of one query, give each span a profile (WithRootSpanOnly(false))"
	}
	l.By.ValuesOmitted = max(0, len(values)-maxAttributeValues)
	q := flameql.Query{Type: r.cpuType()}
	for _, v := range values[:len(values)-l.By.ValuesOmitted] {
		v.CPUInclusive = v.CPU
		l.By.Values = append(l.By.Values, Name{NameSpread: v, Value: &v.Name, Query: q.WithEqual(spanAttribute+by, v.Name).String()})
	}
}

// attributeTitle describes a query with one condition: an attribute has a value.
func (q Query) attributeTitle() (string, bool) {
	if len(q.Matchers) != 1 || q.Matchers[0].Op() != store.MatchEqual {
		return "", false
	}
	key, ok := q.Matchers[0].SpanAttribute()
	return key + " = " + q.Matchers[0].Value(), ok
}

// attributeText returns an attribute in one line.
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

// textValues bounds the sums by attribute in the text form.
const textValues = 20

func (a *ByAttribute) text(b *strings.Builder) {
	writeNote(b, a.Note)
	shown := a.Values[:min(len(a.Values), textValues)]
	writeNames(b, shown, "by "+termtext.OneLine(a.Key), false)
	if more := len(a.Values) + a.ValuesOmitted - len(shown); more > 0 {
		fmt.Fprintf(b, "%8s %s\n", "...", termtext.Plural(more, "more value"))
	}
	b.WriteByte('\n')
}
