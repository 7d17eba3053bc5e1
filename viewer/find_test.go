// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// What is found leads to what it says.
func TestFind(t *testing.T) {
	s := newTestStore(t)
	h := viewer.Handler(s)
	trace := "010000000000000000000000000000a1"
	list := func(key, value string) []answer.Meaning {
		return []answer.Meaning{{List: map[string]string{key: value}}}
	}
	query := func(queries ...string) (meanings []answer.Meaning) {
		for _, q := range queries {
			meanings = append(meanings, answer.Meaning{Query: q})
		}
		return meanings
	}
	for text, want := range map[string][]answer.Meaning{
		slowID:                  query(`shop.cpu{profile_id="` + slowID + `"}`),
		strings.ToUpper(slowID): query(`shop.cpu{profile_id="` + slowID + `"}`),
		" " + trace + "\n":      list("trace", trace),
		`level=warn msg="slow" trace_id=` + trace + ` span_id=` + slowID + ` caused_by=` + fastID + ` again=` + slowID: append(list("trace", trace),
			query(`shop.cpu{profile_id="`+slowID+`"}`, `shop.cpu{profile_id="`+fastID+`"}`)...),
		`{"trace_id":"` + trace + `","msg":"x"}`: list("trace", trace),
		"00-" + trace + "-" + fastID + "-01":     append(list("trace", trace), query(`shop.cpu{profile_id="`+fastID+`"}`)...),
		"00000000000000ff":                       {{Query: `.cpu{profile_id="00000000000000ff"}`, Unknown: true}},
		"nightly #7":                             query(`shop.cpu{profile_id="nightly #7"}`),
		"shop":                                   list("service", "shop"),
		"GET /late":                              list("name", "GET /late"),
		"shop.cpu":                               query("shop.cpu{}"),
		".wall":                                  query(".wall{}"),
		`.cpu{span_name="GET /late"}`:            query(`.cpu{span_name="GET /late"}`),
		"Bad & W":                                list("filter", "Bad & W"),
		"search":                                 list("filter", "search"),
		"cpu":                                    {},
		"bakery.cpu":                             {},
	} {
		var got answer.Understood
		getJSON(t, h, target("/find", "text", text), http.StatusOK, &got)
		for i := range got.Meanings {
			if got.Meanings[i].Title == "" || got.Meanings[i].As == "" {
				t.Errorf("%q: %+v says nothing", text, got.Meanings[i])
			}
			got.Meanings[i].Title, got.Meanings[i].As = "", ""
		}
		if diff := cmp.Diff(want, got.Meanings); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
		if len(want) == 0 && !strings.Contains(got.Note, "no span that is held") {
			t.Errorf("%q: the note is %q", text, got.Note)
		}
		if text := get(t, h, target("/find", "text", text, "format", "text")).Body.String(); len(want) > 0 && want[0].Query != "" && !strings.Contains(text, "query="+want[0].Query) {
			t.Errorf("as text:\n%s", text)
		}
	}
	for text, want := range map[string]string{
		"":                         "text is missing",
		`shop.cpu{span_name="a}`:   "column",
		strings.Repeat("x", 20000): "at most",
	} {
		if w := get(t, h, target("/find", "text", text)); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%.30q: status %d: %s", text, w.Code, w.Body)
		}
	}
}

// A text that says where in spans it is counts these.
func TestFindSaysWhere(t *testing.T) {
	h := viewer.Handler(newTestStore(t))
	for text, want := range map[string]string{
		"SEARCH": "3 spans with this: 3 in the name",
		"worse":  "1 span with this: 1 in the error text",
		"a":      "5 spans with this",
	} {
		var got answer.Understood
		getJSON(t, h, target("/find", "text", text), http.StatusOK, &got)
		if len(got.Meanings) != 1 || !strings.HasPrefix(got.Meanings[0].Title, want) {
			t.Errorf("%q: %+v, want %s", text, got.Meanings, want)
		}
	}
	var got answer.Understood
	getJSON(t, h, target("/find", "text", slowID+" and 00000000000000ff"), http.StatusOK, &got)
	if len(got.Meanings) != 1 || got.Note != "nothing is held of 00000000000000ff" {
		t.Errorf("one of two ids: %+v", got)
	}
}

// Attributes are asked for as lists and queries name them, with their values in quotes or not.
func TestFindAttributes(t *testing.T) {
	s, _ := newQueries(t)
	h := viewer.Handler(s)
	for text, want := range map[string]map[string]string{
		"db.query.text=SELECT b":          {"attribute": "db.query.text=SELECT b"},
		`span.db.query.text="SELECT b"`:   {"attribute": "db.query.text=SELECT b"},
		"db.query.text =~ SELECT.*":       {"attribute": "db.query.text=~SELECT.*"},
		"db.query.text != SELECT \"a\"":   {"attribute": "db.query.text!=SELECT \"a\""},
		"http.request.method":             {"by": "http.request.method"},
		"select B":                        {"filter": "select B"},
		"GET /":                           {"name": "GET /"},
		"nothing=like that":               nil,
		"db.query.text=":                  nil,
		"a line with db.query.text in it": nil,
	} {
		var got answer.Understood
		getJSON(t, h, target("/find", "text", text), http.StatusOK, &got)
		switch {
		case len(got.Meanings) > 1, len(got.Meanings) == 0 && want != nil:
			t.Errorf("%q: %+v", text, got.Meanings)
		case len(got.Meanings) == 1:
			if diff := cmp.Diff(want, got.Meanings[0].List); diff != "" {
				t.Errorf("%q (-want +got):\n%s", text, diff)
			}
			if key := "attribute"; want[key] != "" {
				if w := get(t, h, target("/", key, want[key], "format", "json")); w.Code != http.StatusOK {
					t.Errorf("%q: the list has status %d: %s", text, w.Code, w.Body)
				}
			}
		}
	}
}
