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
)

const (
	// MaxFindBytes bounds the text of a search: a line of a log.
	MaxFindBytes = flameql.MaxBytes
	maxFindIDs   = 20
	maxFindSpans = 1000
)

// Understood has the meanings of a text.
type Understood struct {
	Asked string `json:"text"`
	// Meanings are empty if nothing matches the text.
	Meanings []Meaning `json:"meanings"`
	// Note names the ids without a match.
	Note string `json:"note,omitempty"`
}

// Meaning is one possible meaning of a text.
type Meaning struct {
	// As is query, span, trace, attribute or text.
	As    string `json:"as"`
	Title string `json:"title"`
	// Query is the profile to show. Without one, List has the conditions of a list of spans.
	Query string            `json:"query,omitempty"`
	List  map[string]string `json:"list,omitempty"`
	// Unknown is set if nothing is held for the id: the answer to Query has the reason.
	Unknown bool `json:"unknown,omitempty"`
}

// Understand answers the meanings of a text: a query, ids, a condition on an attribute, or a
// part of a span's texts.
func (r *Reader) Understand(text string) (*Understood, error) {
	u := &Understood{Asked: text, Meanings: []Meaning{}}
	f := finder{Reader: r, Understood: u, text: text}
	// A line with ids may have braces and equal signs.
	for _, find := range []func(){f.query, f.ids, f.attribute, f.part} {
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

// list adds a list of spans with one condition.
func (f *finder) list(as, title, key, value string) {
	f.add(Meaning{As: as, Title: title, List: map[string]string{key: value}})
}

// condition occurs in the braces of a query only.
var condition = regexp.MustCompile(`[{,]\s*[A-Za-z_][\w.]*\s*(=|!=|=~|!~)\s*["` + "`]")

// query parses a text with braces, or with a type of profile at its beginning.
func (f *finder) query() {
	if !strings.Contains(f.text, "{") && !strings.HasPrefix(f.text, ".") {
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

// idPattern matches the ids of spans and traces as in logs and headers.
var idPattern = regexp.MustCompile(`\b(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{16})\b`)

// ids looks up the ids of a text. If all are unknown, each leads to the reason.
func (f *finder) ids() {
	var ids, unknown []string
	for _, id := range idPattern.FindAllString(f.text, -1) {
		if id = strings.ToLower(id); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	var notes []string
	if more := len(ids) - maxFindIDs; more > 0 {
		ids = ids[:maxFindIDs]
		notes = append(notes, termtext.Plural(more, "more id")+" of the text not looked up")
	}
	for _, id := range ids {
		if !f.id(id) {
			unknown = append(unknown, id)
		}
	}
	if len(f.Meanings) == 0 {
		for _, id := range unknown {
			as, label := "span", labelkey.ProfileID
			if len(id) == 32 {
				as, label = "trace", labelkey.TraceID
			}
			q := flameql.Query{Type: f.cpuType()}.WithEqual(label, id)
			f.add(Meaning{As: as, Title: as + " " + id, Query: q.String(), Unknown: !f.ranged()})
		}
	}
	if len(unknown) > 0 && !f.ranged() {
		notes = append(notes, "nothing is held of "+strings.Join(unknown, ", "))
	}
	f.Note = strings.Join(notes, "; ")
}

// id adds the span or the trace of an id, and returns false if none is held.
func (f *finder) id(id string) bool {
	if len(id) == 16 {
		s, known := f.span(id)
		if known {
			span := f.newSpan(s)
			f.add(Meaning{As: "span", Title: "span " + span.title() + " with the id " + span.ProfileID, Query: span.Query})
		}
		return known
	}
	if f.ranged() {
		return false
	}
	n := len(f.spans(store.SpanQuery{TraceID: id, Running: true, Limit: maxFindSpans}))
	if n > 0 {
		f.list("trace", "trace "+id+" with "+counted(n), "trace", id)
	}
	return n > 0
}

func counted(n int) string {
	if n == maxFindSpans {
		return "the newest " + termtext.Plural(n, "span")
	}
	return termtext.Plural(n, "span")
}

// attributePattern is a condition on an attribute: its key, the operator, its value.
var attributePattern = regexp.MustCompile(`(?s)^(?:span\.)?([\w.:/-]+?)\s*(=~|!~|!=|=)\s*(.+)$`)

var operators = map[string]store.MatchOp{"=": store.MatchEqual, "!=": store.MatchNotEqual, "=~": store.MatchRegexp, "!~": store.MatchNotRegexp}

// attribute parses a condition on an attribute that some spans meet.
func (f *finder) attribute() {
	parts := attributePattern.FindStringSubmatch(f.text)
	if parts == nil || f.ranged() {
		return
	}
	key, op, value := parts[1], parts[2], parts[3]
	if quoted := len(value) > 1 && strings.ContainsAny(value[:1], `"'`) && value[len(value)-1] == value[0]; quoted {
		value = value[1 : len(value)-1]
	}
	m, err := store.NewMatcher(spanAttribute+key, operators[op], value)
	if err != nil {
		return // Not an expression: look for the text.
	}
	if n := len(f.spans(store.SpanQuery{Attributes: []store.Matcher{m}, Running: true, Limit: maxFindSpans})); n > 0 {
		f.list("attribute", counted(n)+" with "+key+" "+op+" "+value, "attribute", key+op+value)
	}
}

// part looks for spans with the text in their name, their error or an attribute.
func (f *finder) part() {
	if f.ranged() {
		f.list("text", "spans with this in their name", "filter", f.text)
		return
	}
	if n := len(f.spans(store.SpanQuery{Contains: f.text, Running: true, Limit: maxFindSpans})); n > 0 {
		f.list("text", counted(n)+" with this in the name, the error text or an attribute", "filter", f.text)
		return
	}
	f.Note = "no span that is held has this in its name, its error text or an attribute"
}

// Text returns the meanings for a terminal.
func (u *Understood) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q is\n", termtext.Clip(termtext.OneLine(u.Asked), termtext.Columns-10))
	for _, m := range u.Meanings {
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
