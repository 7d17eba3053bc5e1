// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// frozenPage is a page as one file.
type frozenPage struct {
	body    string
	start   string
	answers map[string]json.RawMessage
}

var frozenData = regexp.MustCompile(`<script type="application/json" id="frozen" data-page="([^"]*)">([^<]*)</script>`)

func freeze(t *testing.T, h http.Handler, address string) frozenPage {
	t.Helper()
	w := get(t, h, address)
	if w.Code != http.StatusOK || w.Body.Len() > 5<<20 || !strings.HasPrefix(w.Header().Get("Content-Disposition"), "attachment") {
		t.Fatalf("GET %s: status %d, %d bytes, %v: %.200s", address, w.Code, w.Body.Len(), w.Header(), w.Body)
	}
	p := frozenPage{body: w.Body.String()}
	data := frozenData.FindStringSubmatch(p.body)
	if data == nil {
		t.Fatalf("GET %s: no answers", address)
	}
	p.start = html.UnescapeString(data[1])
	if err := json.Unmarshal([]byte(data[2]), &p.answers); err != nil {
		t.Fatal(err)
	}
	return p
}

// A frozen page has the answers that the page would fetch, by their addresses.
func TestFrozenPages(t *testing.T) {
	h := viewer.Handler(newTestStore(t))
	search := `{span_name="GET /search"}`
	for frozen, live := range map[string]string{
		target("/", "query", byID(slowID), "format", "frozen"):                              target("/", "query", byID(slowID), "format", "json"),
		target("/profile", "query", byID(evilID), "format", "frozen"):                       target("/", "query", byID(evilID), "format", "json"),
		target("/comparison", "query", search, "rightQuery", "{}", "format", "frozen"):      target("/comparison", "query", search, "rightQuery", "{}", "format", "json"),
		target("/comparison-diff", "query", search, "rightQuery", "{}", "format", "frozen"): target("/comparison-diff", "query", search, "rightQuery", "{}", "format", "json"),
		target("/", "order", "cpu", "since", "x", "format", "frozen"):                       target("/", "order", "cpu", "format", "json"),
	} {
		page := freeze(t, h, frozen)
		if want := "." + strings.Replace(live, "format=json&", "", 1); page.start != want {
			t.Errorf("%s starts at %s, want %s", frozen, page.start, want)
		}
		var want bytes.Buffer
		if err := json.Compact(&want, get(t, h, live).Body.Bytes()); err != nil {
			t.Fatal(err)
		}
		if got := page.answers[live[1:]]; !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s has for %s\n%s\nwant\n%s", frozen, live, got, want.Bytes())
		}
	}
	for _, address := range []string{"/names?format=frozen", "/log?format=frozen", target("/timeline", "query", "{}", "format", "frozen")} {
		if w := get(t, h, address); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "no frozen form") {
			t.Errorf("GET %s: status %d: %s", address, w.Code, w.Body)
		}
	}
}

// A frozen list has the table of names and the graphs of its 20 slowest spans.
func TestFrozenList(t *testing.T) {
	s := newStore(t)
	var slowest []string
	for i := range 25 {
		id := endSpan(t, s, "GET /", 0, 30-i)
		if i < 20 {
			slowest = append(slowest, target("", "query", byID(id), "format", "json"))
		}
	}
	endSpan(t, s, "POST /", 0, 60)
	h := viewer.Handler(s)
	want := append(slowest, "?filter=get&format=json", "?filter=get&format=json&order=slowest",
		"names?format=json", target("timeline", "format", "json", "query", ".cpu{}"))
	var got []string
	for address := range freeze(t, h, "/?filter=get&format=frozen").answers {
		got = append(got, address)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the frozen list has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A frozen list leads from a span to its children, and to its other kinds: a job has its steps there.
func TestFrozenChildren(t *testing.T) {
	s, root, child, grandchild := newFamily(t)
	exportKind(t, s, exporter.KindWall, "wall", "nanoseconds", map[string][]string{"profile_id": {child}, "span_id": {child}})
	answers := freeze(t, viewer.Handler(s), "/?format=frozen").answers
	for query, want := range map[string]string{
		byID(child):      "main.f1",
		byID(grandchild): "main.f2",
		`shop.cpu{profile_id=~"` + root + `|` + child + `|` + grandchild + `"}`: "main.f2",
		`shop.wall{profile_id="` + child + `"}`:                                 "sync.(*Mutex).Lock",
	} {
		if got := string(answers[target("", "query", query, "format", "json")]); !strings.Contains(got, want) {
			t.Errorf("%s has no %s: %s", query, want, got)
		}
	}
}

// A frozen page is whole: without time for all questions there is none.
func TestFrozenPageWithoutTime(t *testing.T) {
	source := newFile(t)
	h := viewer.Handler(source)
	questions := 0
	source.asked = func(any) { questions++ }
	freeze(t, h, "/?format=frozen")
	for last := range questions {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		source.asked = func(any) {
			if n == last {
				cancel()
			}
			n++
		}
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/?format=frozen", nil)
		if w := do(t, h, r); w.Code != http.StatusServiceUnavailable {
			t.Errorf("status %d although the request ends at question %d of %d", w.Code, last+1, questions)
		}
	}
}

// A frozen page loads nothing, and its policy allows its own script and style only.
func TestFrozenPolicy(t *testing.T) {
	page := frozenData.ReplaceAllString(freeze(t, viewer.Handler(newTestStore(t)), "/?format=frozen").body, "")
	if found := regexp.MustCompile(`(?m)\bsrc=|<link[^>]*stylesheet|^import |^export |@import|<img`).FindString(page); found != "" {
		t.Errorf("the file has %q", found)
	}
	hash := func(open, end string) string {
		_, text, _ := strings.Cut(page, open)
		text, _, _ = strings.Cut(text, end)
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	want := fmt.Sprintf(`content="default-src 'none'; script-src %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'"`, hash(`<script type="module">`, "</script>"), hash("<style>", "</style>"))
	if policy, style := strings.Index(page, want), strings.Index(page, "<style>"); policy < 0 || policy > style {
		t.Errorf("the policy is not before the style: %s", want)
	}
}

// Graphs without room are left out. A list without room is refused.
func TestFrozenPagesAreBounded(t *testing.T) {
	file := newFile(t)
	long := strings.Repeat("x", 1000)
	for i := range 1000 {
		file.spans = append(file.spans, store.Span{ProfileID: fmt.Sprintf("%016x", i), Name: long, Duration: time.Second})
	}
	h := viewer.Handler(file)
	if page := freeze(t, h, "/?format=frozen"); len(page.answers) < 2 || len(page.body) < 1<<20 {
		t.Errorf("%d answers in %d bytes", len(page.answers), len(page.body))
	}
	file.spans = slices.Repeat(file.spans, 6)
	if w := get(t, h, "/?format=frozen"); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "more than 5 MiB") {
		t.Errorf("status %d: %.200s", w.Code, w.Body)
	}
}
