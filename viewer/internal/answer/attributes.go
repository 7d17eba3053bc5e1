// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer/internal/sums"
)

const (
	// maxAttributeKeys bounds the keys in a list, maxAttributeValues the values of one key.
	maxAttributeKeys = 32
	// newestSpans is the number of spans with the keys that are offered while no key is chosen.
	newestSpans        = 1000
	maxAttributeValues = 500
)

// spanAttribute begins the label of a condition on an attribute.
const spanAttribute = "span."

// Attribute is an attribute of a span. Child is the name of the child that has it, if it
// is not the span's own.
type Attribute struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Child string `json:"child,omitempty"`
}

// ByAttribute sums the spans that are held by the values of one attribute.
type ByAttribute struct {
	Key string `json:"key"`
	// Values have those with most CPU time first; ValuesOmitted is the number of those
	// left out.
	Values        []AttributeValue `json:"values"`
	ValuesOmitted int              `json:"valuesOmitted,omitempty"`
	// Note is a remark about the sums, or the reason why there are none.
	Note string `json:"note,omitempty"`
}

// AttributeValue is the sum of the spans with one value of an attribute.
type AttributeValue struct {
	Value     string `json:"value"`
	Spans     int    `json:"spans"`
	Errors    int    `json:"errors"`
	WallNs    int64  `json:"wallNs"`
	MaxWallNs int64  `json:"maxWallNs"`
	CPUNs     int64  `json:"cpuNs"`
	// Query selects the profile of these spans.
	Query string `json:"query"`
}

func newAttributes(list []store.Attribute) []Attribute {
	attributes := make([]Attribute, len(list))
	for i, a := range list {
		attributes[i] = Attribute(a)
	}
	return attributes
}

// attributes fills in the keys of attributes and the sums by one of them, if the source has
// any.
func (l *SpanList) attributes(r *Reader, by string) {
	if by != "" {
		l.By = &ByAttribute{Key: by, Values: []AttributeValue{}}
	}
	if !r.records() {
		if l.By != nil {
			l.By.Note = unknownAttributes
		}
		return
	}
	spans := r.every
	if l.By != nil {
		spans = r.allSpans()
	} else if spans == nil {
		spans = r.spans(store.SpanQuery{Limit: newestSpans})
	}
	keys := sums.AttributeKeys(spans)
	for _, key := range keys {
		if len(l.AttributeKeys) == maxAttributeKeys && key.Key != by {
			continue
		}
		l.AttributeKeys = append(l.AttributeKeys, key)
	}
	if l.By == nil {
		return
	}
	totals := sums.AttributeTotals(r.allSpans(), by)
	if l.By.ValuesOmitted = len(totals) - maxAttributeValues; l.By.ValuesOmitted > 0 {
		totals = totals[:maxAttributeValues]
	} else {
		l.By.ValuesOmitted = 0
	}
	if len(totals) == 0 {
		l.By.Note = "no span that is held has this attribute"
	}
	q := flameql.Query{Type: r.cpuType()}
	for _, t := range totals {
		if t.Shared {
			l.By.Note = wholeRequests
		}
		l.By.Values = append(l.By.Values, AttributeValue{
			Value: t.Value, Spans: t.Spans, Errors: t.Errors,
			WallNs: t.Duration.Nanoseconds(), MaxWallNs: t.MaxDuration.Nanoseconds(), CPUNs: t.CPU.Nanoseconds(),
			Query: q.WithEqual(spanAttribute+by, t.Value).String(),
		})
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

const (
	// unknownAttributes is about a source that has no records of spans.
	unknownAttributes = "the profiles here know no attributes of spans: conditions on span.… need the records of a running program"
	// wholeRequests is about times of spans that have a value from a child.
	wholeRequests = "these are the times of whole requests: a request counts for each value that it has; for the time of one query, give each span a profile (WithRootSpanOnly(false))"
)

// selectsAny reports whether q selects a sample.
func (r *Reader) selectsAny(q Query) bool {
	return slices.ContainsFunc(r.totals(q), func(t store.Sum) bool {
		return t.Kind == q.Type.Kind && t.Samples > 0
	})
}

// text returns the attribute in one line.
func (a Attribute) text() string {
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
			parts = append(parts, a.text())
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
	if len(a.Values) == 0 {
		termtext.Prose(b, "", 0, fmt.Sprintf("by %s: %s", termtext.OneLine(a.Key), a.Note))
		return
	}
	fmt.Fprintf(b, "\n%8s %7s %10s  by %s\n", "cpu", "spans", "max wall", termtext.OneLine(a.Key))
	for _, v := range a.Values[:min(len(a.Values), textValues)] {
		fmt.Fprintf(b, "%8s %7d %10s  %s\n", termtext.Value(v.CPUNs, termtext.Nanoseconds), v.Spans, termtext.Value(v.MaxWallNs, termtext.Nanoseconds), termtext.Clip(termtext.OneLine(v.Value), termtext.Columns-29))
	}
	if more := len(a.Values) + a.ValuesOmitted - textValues; more > 0 {
		fmt.Fprintf(b, "%27s  ... %s\n", "", termtext.Plural(more, "more value"))
	}
	if a.Note != "" {
		termtext.Prose(b, "", 0, "note: "+a.Note)
	}
	b.WriteByte('\n')
}
