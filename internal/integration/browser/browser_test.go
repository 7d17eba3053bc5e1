// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestBrowser walks through the viewer of the quickstart, over real samples. It needs a Chromium,
// and skips without one unless SPANPROF_BROWSER is "required".
func TestBrowser(t *testing.T) {
	b := newBrowser(t)
	address := startExample(t, "quickstart")
	span := waitForSpan(t, address, "GET /search", func(s listedSpan) bool { return s.CPUSamples >= 25 })

	b.run("the slowest searches",
		navigate(address+"?order=slowest&filter=search"),
		visible(fmt.Sprintf(`a.name[data-id=%q]`, span.ProfileID)),
		visible(`.strip canvas`))
	for _, l := range []look{tours[2], tours[0]} {
		b.wear(l)
		b.run("the header", chromedp.Reload(), visible(`.pill.on`), visible(`.flush`), settled)
		shows(b, "the parts of the header that moved, "+l.name, `headerShifts`, "")
	}
	b.screenshots("spans")

	get(b, chromedp.Evaluate[bool](`(() => {
		const real = fetch;
		window.polls = 0;
		window.fetch = async (to, how) => {
			if (to === './flush') return new Response('spanprof: flush: stuck', { status: 500 });
			const answer = await real(to, how);
			if (!to.startsWith('./?')) return answer;
			// A span has been running for a minute.
			const data = await answer.json();
			data.spans?.unshift({ ...data.spans[0], profileId: 'running', running: true, durationNs: (60 + polls++) * 1e9 });
			return new Response(JSON.stringify(data));
		};
		return true;
	})()`))
	b.run("a flush that fails",
		click(`.flush`),
		visible(`#alert`),
		until(`polls > 1`)) // The next answer is there.
	if text := b.text(`#alert`); !strings.HasSuffix(text, "stuck") {
		t.Errorf("the failed flush shows %q", text)
	}
	b.run("a click hides it", click(`#service`), chromedp.WaitNotVisible(css(`#alert`)))
	for _, focused := range []string{`.flush`, `.names a.name`, `.list .tabs a`, `[data-id=running]`, `.spans tbody tr:nth-child(3) a.name`} {
		get(b, chromedp.Evaluate[bool](fmt.Sprintf(`(() => {
			window.focused = document.querySelector(%q);
			focused.focus();
			polls = 0;
			return true;
		})()`, focused)))
		// When the second answer is there, the page has shown the first.
		b.run("the focus stays on "+focused, until(`polls > 1`))
		shows(b, "the element that "+focused+" lost the focus to", `document.activeElement === focused ? '' : document.activeElement.outerHTML.slice(0, 100)`, "")
	}
	if widest := get(b, chromedp.Evaluate[float64](`Math.max(...[...document.querySelectorAll('.spans tr + tr .bar i')].map((e) => e.offsetWidth / e.parentElement.offsetWidth))`)); widest < 0.9 {
		t.Errorf("beside a running span, the longest fills %.0f %% of a bar", 100*widest)
	}

	b.run("a span",
		click(`.check:last-of-type input`), // Hold still.
		click(fmt.Sprintf(`a.name[data-id=%q]`, span.ProfileID)),
		visible(`.graph canvas`))
	b.screenshots("span")
	b.run("zoom by keyboard",
		chromedp.Focus(css(`.graph canvas`)),
		chromedp.KeyEvent(kb.ArrowDown+kb.ArrowDown+kb.Enter),
		visible(`.detail`),
		chromedp.WaitEnabled(css(`.tools button:last-child`)))
	if text := b.text(`.detail`); !strings.Contains(text, "of the total") {
		t.Errorf("the zoomed frame is %q", text)
	}
	b.run("back by mouse", click(`.tools button:last-child`), chromedp.WaitNotVisible(css(`.detail`)))
	x, y, width := b.box(`.graph canvas`)
	b.run("zoom by mouse",
		chromedp.MouseEvent(chromedp.MouseMoved, x+width/2, y+30), // The second row.
		visible(`.tip`),
		chromedp.MouseClickXY(x+width/2, y+30),
		visible(`.detail`))
	b.run("the lines", click(`[data-tab=functions]`), visible(`.functions .lines`))
	b.screenshots("lines")
	b.run("against the baseline", click(`.actions .primary`), visible(`.diff tbody tr`), visible(`.graph canvas`))
	if title := b.text(`h1`); title != "Against its baseline: GET /search" {
		t.Errorf("the comparison is %q", title)
	}
	b.screenshots("comparison")

	b.run("a range of the time line",
		navigate(address),
		visible(`.strip canvas`),
		chromedp.Focus(css(`.strip canvas`)),
		chromedp.KeyEvent(kb.ArrowLeft),
		visible(`.chosen .primary`),
		click(`.chosen .primary`),
		visible(`.graph canvas`),
		visible(`.strip canvas`)) // A request of its own loads it.
	b.screenshots("process")
	x, y, width = b.box(`.strip canvas`)
	b.run("two ranges of the time line",
		chromedp.DragAndDropXY(x+width*0.1, y+20, x+width*0.4, y+20),
		visible(`.chosen .another`),
		click(`.chosen .another`),
		chromedp.WaitNotPresent(css(`.chosen .another`)),
		chromedp.DragAndDropXY(x+width*0.95, y+20, x+width*0.7, y+20),
		visible(`.chosen .primary`),
		click(`.chosen .primary`),
		visible(`.diff`))
	if title := b.text(`h1`); title != "Comparison: Whole process: CPU time" {
		t.Errorf("the ranges are %q", title)
	}

	waiting := waitForSpan(t, address, "GET /slow", func(s listedSpan) bool { return s.CPUSamples == 0 && s.WallSamples > 2 })
	b.run("a span that only waited", navigate(address+"?query="+url.QueryEscape(waiting.Query)), visible(`.graph canvas`))
	if text := b.text(`.kinds [aria-current=page]`); !strings.HasPrefix(text, "Wall") {
		t.Errorf("a span that only waited opens on %q", text)
	}
	b.run("its CPU", click(`.kinds a:first-child`), visible(`.empty`))
	b.screenshots("empty")
	b.run("and back", click(`.empty .primary`), visible(`.graph canvas`))
	b.run("a query that cannot be read",
		navigate(address+"?query="+url.QueryEscape(`codesearch.cpu{span_name=~"("}`)),
		visible(`main [role=alert]`))
	b.screenshots("error")
	b.run("an id without samples", navigate(address+"?query="+url.QueryEscape(`.cpu{profile_id="0000000000000001"}`)), visible(`.empty`))
	asked := `performance.getEntriesByType('resource').filter((e) => e.name.includes('format=json')).length`
	b.run("another query", chromedp.SendKeys(css(`.query input`), "another"))
	n := get(b, chromedp.Evaluate[int](asked))
	b.run("while the page polls", until(fmt.Sprintf("%s > %d", asked, n+2)))
	if query := get(b, chromedp.Evaluate[string](`document.activeElement.value`)); !strings.Contains(query, "another") {
		t.Errorf("the query that the user types is %q", query)
	}
	b.run("the log", navigate(address+"log"), visible(`.numbers dd`))
	b.screenshots("log")
	b.check(address)
}
