// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spanprof/spanprof/internal/flameql"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer/internal/sums"
)

const (
	// MaxFindBytes bounds the text that is looked for: a line of a log.
	MaxFindBytes = flameql.MaxBytes
	// maxFindIDs bounds the ids of a line that are looked up, maxFindSpans the spans that
	// are counted.
	maxFindIDs   = 20
	maxFindSpans = 1000
)

// Understood is what a text was understood as.
type Understood struct {
	Asked string `json:"text"`
	// Meanings are what to go on with, the likeliest first; none where nothing has to do
	// with the text.
	Meanings []Meaning `json:"meanings"`
	// Note says what was found in vain.
	Note string `json:"note,omitempty"`
}

// Meaning is one thing that a text may be about.
type Meaning struct {
	// As is query, span, trace, service, name, attribute, key or text.
	As string `json:"as"`
	// Title says in words what it is.
	Title string `json:"title"`
	// Query is the profile to show; List has the conditions of a list of spans where
	// there is no query.
	Query string            `json:"query,omitempty"`
	List  map[string]string `json:"list,omitempty"`
	// Unknown says that nothing of it is held: the answer to Query says why.
	Unknown bool `json:"unknown,omitempty"`
}

// WithoutStatus implements Data.
func (u *Understood) WithoutStatus() (any, *Status) { return u, nil }

// Lasts implements Data: a span that runs has an id.
func (u *Understood) Lasts() bool { return false }

// Understand answers what a text is: a query, ids, as a line of a log has them, the name of a
// service or of spans, an attribute, or a part of what spans have.
func (r *Reader) Understand(text string) (*Understood, error) {
	u := &Understood{Asked: text, Meanings: []Meaning{}}
	f := finder{Reader: r, Understood: u, text: text}
	// The order says what a text is if it may be several things: braces are those of a
	// query, and a line with ids is about these.
	for _, find := range []func(){f.query, f.ids, f.manual, f.names, f.bare, f.attribute, f.part} {
		if find(); len(u.Meanings) > 0 || r.err != nil {
			break
		}
	}
	u.Note = r.notes(u.Note)
	return answered(r, u)
}

type finder struct {
	*Reader
	*Understood
	text string
}

func (f *finder) add(m Meaning) { f.Meanings = append(f.Meanings, m) }

// list adds a meaning that is a list of spans with one condition.
func (f *finder) list(as, title, key, value string) {
	f.add(Meaning{As: as, Title: title, List: map[string]string{key: value}})
}

// condition is what only the braces of a query have.
var condition = regexp.MustCompile(`[{,]\s*[A-Za-z_][\w.]*\s*(=|!=|=~|!~)\s*["` + "`]")

// query takes a text with braces for a query.
func (f *finder) query() {
	if !strings.Contains(f.text, "{") {
		return
	}
	q, err := flameql.Parse(f.text)
	switch {
	case err == nil:
		f.add(Meaning{As: "query", Title: "query " + q.String(), Query: q.String()})
	case condition.MatchString(f.text) && !idPattern.MatchString(f.text):
		f.err = BadRequest{err}
	}
}

// idPattern matches the ids of spans and traces as logs and headers have them.
var idPattern = regexp.MustCompile(`\b(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{16})\b`)

// ids looks all ids of a text up. Those that are not held are named, and lead to what is
// known of them where there is no other.
func (f *finder) ids() {
	var ids, unknown []string
	for _, id := range idPattern.FindAllString(f.text, -1) {
		if id = strings.ToLower(id); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	more := len(ids) - maxFindIDs
	ids = ids[:min(len(ids), maxFindIDs)]
	for _, id := range ids {
		if !f.id(id) {
			unknown = append(unknown, id)
		}
	}
	if len(f.Meanings) == 0 {
		for _, id := range unknown {
			label := labelkey.ProfileID
			if len(id) == 32 {
				label = labelkey.TraceID
			}
			q := flameql.Query{Type: f.cpuType()}.WithEqual(label, id)
			f.add(Meaning{As: as(id), Title: as(id) + " " + id, Query: q.String(), Unknown: !f.ranged()})
		}
	}
	var notes []string
	if len(unknown) > 0 && !f.ranged() {
		notes = append(notes, "nothing is held of "+strings.Join(unknown, ", "))
	}
	if more > 0 {
		notes = append(notes, termtext.Plural(more, "more id")+" of the text not looked up")
	}
	f.Note = strings.Join(notes, "; ")
}

// as returns what an id is of.
func as(id string) string {
	if len(id) == 32 {
		return "trace"
	}
	return "span"
}

// id adds what is known of an id, and reports whether anything is.
func (f *finder) id(id string) bool {
	if as(id) == "span" {
		s, known := f.span(id)
		if known {
			f.spanMeaning(s)
		}
		return known
	}
	if f.ranged() {
		return false
	}
	spans := f.spans(store.SpanQuery{TraceID: id, Running: true, Limit: maxFindSpans})
	if len(spans) == 0 {
		return false
	}
	n := termtext.Plural(len(spans), "span")
	if len(spans) == maxFindSpans {
		n = "the newest " + n
	}
	f.list("trace", "trace "+id+" with "+n, "trace", id)
	return true
}

func (f *finder) spanMeaning(s store.Span) {
	span := f.newSpan(s)
	f.add(Meaning{As: "span", Title: "span " + span.title() + " with the id " + span.ProfileID, Query: span.Query})
}

// manual looks for a manual exemplar: its id is any text.
func (f *finder) manual() {
	if len(f.text) > maxExemplarID || strings.TrimSpace(f.text) == "" {
		return
	}
	if s, known := f.span(f.text); known {
		f.spanMeaning(s)
	}
}

// maxExemplarID bounds the ids that are looked for among those of manual exemplars.
const maxExemplarID = 128

// names takes a text for a service and for the name of spans: it may be both.
func (f *finder) names() {
	totals := f.nameTotals()
	service := slices.Contains(f.services(), f.text)
	name := false
	for _, t := range totals {
		service = service || t.Service == f.text
		name = name || t.Name == f.text
	}
	if service {
		f.list("service", "service "+f.text, "service", f.text)
	}
	if name {
		f.list("name", "spans named "+f.text, "name", f.text)
	}
}

// bare takes a text without braces for a query if it has a type of profile and no service
// that is not there.
func (f *finder) bare() {
	q, err := flameql.Parse(f.text)
	if err != nil || !strings.ContainsAny(f.text, ".:") || q.App != "" && !slices.Contains(f.services(), q.App) {
		return
	}
	f.add(Meaning{As: "query", Title: "query " + q.String(), Query: q.String()})
}

// attributePattern is a condition on an attribute: its key, how it compares, its value.
var attributePattern = regexp.MustCompile(`(?s)^(?:span\.)?([\w.:/-]+?)\s*(=~|!~|!=|=)\s*(.+)$`)

// attribute takes a text for a key of attributes, or for a condition on one.
func (f *finder) attribute() {
	if !f.records() {
		return
	}
	keys := sums.AttributeKeys(f.allSpans())
	has := func(key string) bool {
		return slices.ContainsFunc(keys, func(k sums.AttributeKey) bool { return k.Key == key })
	}
	if key := strings.TrimPrefix(f.text, spanAttribute); has(key) {
		f.list("key", "sums by the attribute "+key, "by", key)
		return
	}
	parts := attributePattern.FindStringSubmatch(f.text)
	if parts == nil || !has(parts[1]) {
		return
	}
	key, op, value := parts[1], parts[2], parts[3]
	if quoted := len(value) > 1 && strings.ContainsAny(value[:1], `"'`) && value[len(value)-1] == value[0]; quoted {
		value = value[1 : len(value)-1]
	}
	f.list("attribute", "spans with "+key+" "+op+" "+value, "attribute", key+op+value)
}

// part looks for spans that have the text in their name, their error or an attribute.
func (f *finder) part() {
	part := strings.ToLower(f.text)
	contains := func(text string) bool { return strings.Contains(strings.ToLower(text), part) }
	if f.ranged() {
		if slices.ContainsFunc(f.nameTotals(), func(t store.NameTotal) bool { return contains(t.Name) }) {
			f.list("text", "spans with this in their name", "filter", f.text)
		}
		return
	}
	spans := f.spans(store.SpanQuery{Contains: f.text, Running: true, Limit: maxFindSpans})
	var names, errors, attributes int
	for _, s := range spans {
		switch {
		case contains(s.Name):
			names++
		case contains(s.Status):
			errors++
		default:
			attributes++
		}
	}
	var where []string
	for _, place := range []struct {
		spans int
		name  string
	}{{names, "name"}, {errors, "error text"}, {attributes, "attributes"}} {
		if place.spans > 0 {
			where = append(where, fmt.Sprintf("%d in the %s", place.spans, place.name))
		}
	}
	if len(where) == 0 {
		f.Note = "no span that is held has this in its name, its error text or an attribute; nor is it a known id, service or attribute"
		return
	}
	n := termtext.Plural(len(spans), "span")
	if len(spans) == maxFindSpans {
		n = "the newest " + n
	}
	f.list("text", n+" with this: "+strings.Join(where, ", "), "filter", f.text)
}

// Text returns what was understood for a terminal.
func (u *Understood) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q is\n", termtext.Clip(termtext.OneLine(u.Asked), termtext.Columns-10))
	for _, m := range u.Meanings {
		// Copied into a shell in quotes, as everywhere in the text forms.
		fmt.Fprintf(&b, "  %s\n", termtext.Clip(termtext.OneLine(m.Title), termtext.Columns-2))
		for key, value := range m.List {
			fmt.Fprintf(&b, "    %s=%s\n", key, termtext.OneLine(value))
		}
		if m.Query != "" {
			fmt.Fprintf(&b, "    query=%s\n", termtext.OneLine(m.Query))
		}
	}
	if len(u.Meanings) == 0 {
		b.WriteString("  nothing that is held\n")
	}
	if u.Note != "" {
		termtext.Prose(&b, "", 0, "note: "+u.Note)
	}
	return b.String()
}
