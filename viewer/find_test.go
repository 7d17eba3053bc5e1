// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

func listed(as, key, value string) []answer.Meaning {
	return []answer.Meaning{{As: as, List: map[string]string{key: value}}}
}

func queried(as string, queries ...string) (meanings []answer.Meaning) {
	for _, q := range queries {
		meanings = append(meanings, answer.Meaning{As: as, Query: q})
	}
	return meanings
}

// checkFind compares the meanings of texts, and follows the lists among them.
func checkFind(t *testing.T, s *store.Store, want map[string][]answer.Meaning) {
	t.Helper()
	h := viewer.Handler(s)
	for text, want := range want {
		var got answer.Understood
		getJSON(t, h, target("/find", "text", text), http.StatusOK, &got)
		if diff := cmp.Diff(want, got.Meanings, cmpopts.IgnoreFields(answer.Meaning{}, "Title"), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
		plain := get(t, h, target("/find", "text", text, "format", "text")).Body.String()
		for _, m := range got.Meanings {
			if m.Title == "" || !strings.Contains(plain, "="+m.Query) {
				t.Errorf("%q: %+v has no title, or is not in the text:\n%s", text, m, plain)
			}
			for key, value := range m.List {
				var list answer.SpanList
				getJSON(t, h, target("/", key, value, "format", "json"), http.StatusOK, &list)
				if len(list.Spans) == 0 {
					t.Errorf("%q: no span with %s=%s", text, key, value)
				}
			}
		}
		if len(want) == 0 && !strings.Contains(got.Note, "no span that is held") {
			t.Errorf("%q: the note is %q", text, got.Note)
		}
	}
}

func TestFind(t *testing.T) {
	s := newTestStore(t)
	trace := "010000000000000000000000000000a1"
	slow, fast := `shop.cpu{profile_id="`+slowID+`"}`, `shop.cpu{profile_id="`+fastID+`"}`
	checkFind(t, s, map[string][]answer.Meaning{
		slowID:                  queried("span", slow),
		strings.ToUpper(slowID): queried("span", slow),
		" " + trace + "\n":      listed("trace", "trace", trace),
		`level=warn msg="slow" trace_id=` + trace + ` span_id=` + slowID + ` caused_by=` + fastID + ` again=` + slowID: append(listed("trace", "trace", trace),
			queried("span", slow, fast)...),
		`{"trace_id":"` + trace + `","msg":"x"}`: listed("trace", "trace", trace),
		"00-" + trace + "-" + fastID + "-01":     append(listed("trace", "trace", trace), queried("span", fast)...),
		"00000000000000ff":                       {{As: "span", Query: `.cpu{profile_id="00000000000000ff"}`, Unknown: true}},
		".wall":                                  queried("query", ".wall{}"),
		`.cpu{span_name="GET /late"}`:            queried("query", `.cpu{span_name="GET /late"}`),
		"Bad & W":                                listed("text", "filter", "Bad & W"),
		"search":                                 listed("text", "filter", "search"),
		"bakery":                                 nil,
	})
	h := viewer.Handler(s)
	for text, want := range map[string]string{
		"":                         "text is missing",
		`shop.cpu{span_name="a}`:   "column",
		strings.Repeat("x", 20000): "at most",
	} {
		if w := get(t, h, target("/find", "text", text)); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%.30q: status %d: %s", text, w.Code, w.Body)
		}
	}
	var got answer.Understood
	getJSON(t, h, target("/find", "text", slowID+" and 00000000000000ff"), http.StatusOK, &got)
	if len(got.Meanings) != 1 || got.Note != "nothing is held of 00000000000000ff" {
		t.Errorf("one of two ids: %+v", got)
	}
}

// Conditions on attributes are read with quotes or without.
func TestFindAttributes(t *testing.T) {
	s, _ := newQueries(t)
	checkFind(t, s, map[string][]answer.Meaning{
		"db.query.text=SELECT b":        listed("attribute", "attribute", "db.query.text=SELECT b"),
		`span.db.query.text="SELECT b"`: listed("attribute", "attribute", "db.query.text=SELECT b"),
		"db.query.text =~ SELECT.*":     listed("attribute", "attribute", "db.query.text=~SELECT.*"),
		"db.query.text != SELECT \"a\"": listed("attribute", "attribute", "db.query.text!=SELECT \"a\""),
		"select B":                      listed("text", "filter", "select B"),
		"nothing=like that":             nil,
		"db.query.text=":                nil,
		"db.query.text=~(":              nil,
	})
}
