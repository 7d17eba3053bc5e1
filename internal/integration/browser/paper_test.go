// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// TestPaper prints what people hand on: lists, with what they are about, a span and a comparison.
// The figures on paper are those that a terminal shows.
func TestPaper(t *testing.T) {
	o := newShop(t, true, 72)
	address := o.serve(t)
	b := newBrowser(t)
	ofName := "?name=" + url.QueryEscape("GET /search")
	slowest := answerOf[struct{ Spans []listedSpan }](t, address+ofName+"&format=json&order=slowest&limit=1").Spans[0]
	versions := url.Values{"leftQuery": {`.cpu{service_version="v1"}`}, "rightQuery": {`.cpu{service_version="v2"}`}}
	const figure = `(-|[0-9.]+ [µnm]?s)`
	// figures are those of rows on the page, cell by cell, and of lines of the text.
	type figures struct {
		rows   string
		cells  []string
		asText string
	}
	for _, page := range []struct {
		name, address string
		way           []string // what is clicked on
		ready         string
		same          []figures
		seen          []string
	}{
		{"list", "?error=true&order=slowest&filter=order&service=shop", nil, `.spans tbody tr:nth-child(7)`, []figures{
			{`.spans tbody tr`, []string{`[data-label=wall]`, `[data-label=CPU]`, `[data-label=samples]`, `a.name`}, `(?m)^(?:[0-9-]+ )?[0-9:.]+ +` + figure + ` +` + figure + ` +([0-9]+)  [0-9a-f]+  (.*?) \[error\]$`},
		}, []string{
			`h1`, `.count`, `.conditions .chip`, `.choice label:has([value=slowest]:checked)`, `.check:has(:checked)`, `.tools [data-search]`,
			`.spans thead th`, `.spans tbody tr:nth-child(7) a.name`, `.spans tbody tr:nth-child(7) .num`, `.strip canvas`, `.names li`,
		}},
		{"names", "names?sort=p95", nil, `.bynames tbody tr`, []figures{
			{
				`.bynames tbody tr:has(a)`,
				[]string{`[data-by=cpu]`, `[data-by=self]`, `[data-by=waits]`, `[data-by=spans]`, `[data-by=errors]`, `[data-by=p50]`, `[data-by=p95]`, `[data-by=max]`, `a.name`},
				`(?m)^ *` + figure + ` +` + figure + ` +` + figure + ` +([0-9]+) +([0-9]+) +` + figure + ` +` + figure + ` +` + figure + `  (.*)$`,
			},
		}, []string{`h1`, `.tools [role=status]`, `.bynames [aria-sort=descending]`, `.bynames tbody th`, `.bynames tbody .num`}},
		{"span", ofName, []string{`[value=slowest]`, `.spans a.name`}, `.graph canvas`, []figures{
			{`.tiles`, []string{`div:nth-child(1) dd`, `div:nth-child(2) dd`}, `start \S+  wall ` + figure + `  cpu ` + figure},
		}, []string{`h1`, `.tiles dd`, `.parts i`, `.graph canvas`}},
		{"found", "?query=" + url.QueryEscape(slowest.Query) + "&search=handle", nil, `.graph canvas`, nil, []string{`.graph [data-search]`, `.graph .found`}},
		{"trace", "?view=trace&query=" + url.QueryEscape(slowest.Query), nil, `.trace li`, nil, []string{`h1`, `.tiles dd`, `.trace li .name`, `.lane i`}},
		{"functions", "?view=functions&query=.cpu", nil, `.functions tbody tr`, []figures{
			{`.functions tbody tr`, []string{`td:nth-of-type(2)`, `td:nth-of-type(4)`, `.fn button`}, `(?m)^ +` + figure + ` +[0-9.]+% +` + figure + ` +[0-9.]+%  ([^ :\n]+)(?::.*)?$`},
		}, []string{`h1`, `.tiles dd`, `.functions tbody .fn`, `.functions tbody .num`, `.strip canvas`}},
		{"comparison", "comparison-diff?" + versions.Encode(), nil, `.diff tbody tr`, []figures{
			{`.side`, []string{`strong`}, `(?m)^  total +CPU time ` + figure},
			{`.diff tbody tr`, []string{`.num:nth-of-type(4)`, `.fn`}, `([+-][0-9.]+ pp)  (\S+)`},
		}, []string{`h1`, `.side strong`, `.side .code`, `.diff tbody .fn`, `.diff tbody .num`, `.graph canvas`, `.scale i`}},
	} {
		b.run(page.name, navigate(address+page.address))
		b.task("print "+page.name, len(page.way), func() {
			for _, selector := range page.way {
				b.run(page.name, click(selector)) // It may lead to another page.
			}
			b.run(page.name, visible(page.ready), settled)
			b.print("paper-"+page.name, func() (rows [][]string) {
				text := textOf(t, b.at().String())
				for _, f := range page.same {
					var want [][]string
					for _, line := range regexp.MustCompile(f.asText).FindAllStringSubmatch(text, -1) {
						want = append(want, line[1:])
					}
					cells, err := json.Marshal(f.cells)
					if err != nil {
						t.Fatal(err)
					}
					got := get(b, chromedp.Evaluate[[][]string](fmt.Sprintf(`[...document.querySelectorAll(%q)].map((row) => %s.map((cell) => {
						const e = row.querySelector(cell);
						return e?.checkVisibility() ? e.innerText.trim().replaceAll('\u2013', '-').replaceAll('\u2212', '-').replaceAll(' %%', '%%') : '';
					}))`, f.rows, cells)))
					if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
						t.Errorf("%s: in a terminal (-) and on paper (+):\n%s", page.name, diff)
					}
					rows = append(rows, want...)
				}
				return rows
			}, page.seen...)
		})
	}
	b.check(address)
}

// TestCutListOnPaper prints that names are left out.
func TestCutListOnPaper(t *testing.T) {
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor())).Tracer("")
	for i := range 130 {
		_, span := tracer.Start(t.Context(), fmt.Sprint("GET /", i))
		span.End()
	}
	server := httptest.NewServer(viewer.Handler(s))
	t.Cleanup(server.Close)
	b := newBrowser(t)
	b.run("the list", size(1600, 900), navigate(server.URL+"/"), until(`document.querySelector('.aside .cutoff')?.innerText.startsWith('Show 122 more names')`))
	b.print("paper-cut", func() [][]string { return nil }, `.names li`, `.aside .cutoff`)
	b.check(server.URL + "/")
}
