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

// TestNameTable finds the endpoint with most CPU time in one click, and sorts the names.
func TestNameTable(t *testing.T) {
	address := newShop(t).address
	b := newBrowser(t)
	b.run("the spans", navigate(address), visible(`.spans tbody tr`))
	b.task("the endpoint with most CPU time", 1, func() {
		b.run("the names", click(`.pages a:nth-child(2)`), visible(`.bynames tbody tr`))
	})
	shows(b, "the first name and its CPU time", `[document.querySelector('.bynames tbody .name').innerText, document.querySelector('.bynames tbody [data-by=cpu]').innerText].join()`, "GET /search,10.0 s")
	b.screenshots("names")
	b.run("the most errors", click(`[data-by=errors] button`), until(`document.querySelector('.bynames .name').textContent === 'POST /order'`))
	b.run("the failed ones", click(`.bynames .err`), visible(`.spans tbody tr`), until(`document.querySelectorAll('.spans tbody tr').length === 7`))
	b.check(address)
}

// TestFindBox finds the request of a log line, in two clicks.
func TestFindBox(t *testing.T) {
	o := newShop(t)
	b := newBrowser(t)
	b.run("a list without spans", navigate(o.address+"?error=true&min=10s"), visible(`.empty`))
	b.task("a trace id of a log", 2, func() {
		b.run("the box", click(`[data-search]`), chromedp.KeyEvent(o.failed+kb.Enter),
			until(`document.querySelectorAll('.spans tbody tr').length === 1 && location.search === '?trace=`+o.failed+`'`))
		b.run("its graph", click(`.spans a.name`), visible(`.graph canvas`))
	})
	find := func(text string) {
		b.run("find "+text, navigate(o.address), visible(`.spans tbody tr`), chromedp.SendKeys(css(`[data-search]`), text+kb.Enter))
	}
	find(`level=error msg="card declined" trace_id=` + o.failed + ` span_id=` + o.failedSpan)
	b.run("the span of the line", visible(`h1 [title="POST /order"]`), until(`location.search.includes('`+o.failedSpan+`')`))
	find("url.query=page=3")
	if got := b.text(`.conditions`); !strings.HasPrefix(got, "with url.query=page=3") {
		t.Errorf("an attribute is understood as %q", got)
	}
	b.check(o.address)
}

// TestVersions compares a version with the last one in one click.
func TestVersions(t *testing.T) {
	address := newShop(t).address
	b := newBrowser(t)
	b.run("the versions", navigate(address), visible(`.versions a`))
	b.task("compare versions", 1, func() {
		b.run("compare", click(`.versions a`), visible(`.sides`))
	})
	b.screenshots("versions")
	// The time line has the spans of the list.
	b.run("of one name", navigate(address+"?name="+url.QueryEscape("GET /cart")), visible(`.strip canvas`),
		until(`document.querySelector('.strip .chips').innerText.trim() === 'GET /cart'`))
	b.check(address)
}

// TestKeyboardOnly finds a slow request, sorts the names and compares times without a mouse.
func TestKeyboardOnly(t *testing.T) {
	address := newShop(t).address
	b := newBrowser(t)
	// onto presses Tab until the focus is on an element.
	onto := func(selector string) {
		t.Helper()
		b.run("the way to "+selector, settled)
		for range 60 {
			b.run("on with Tab", chromedp.KeyEvent(kb.Tab))
			if get(b, chromedp.Evaluate[bool](fmt.Sprintf(`document.activeElement.matches(%q)`, selector))) {
				shows(b, "that the focus on "+selector+" is visible", `document.activeElement.matches(':focus-visible')`, true)
				return
			}
		}
		t.Fatalf("Tab does not lead to %s", selector)
	}
	enter := chromedp.KeyEvent(kb.Enter)
	b.task("by keyboard only", 0, func() {
		b.run("the box", navigate(address), visible(`.spans tbody tr`), chromedp.KeyEvent("/"), until(`document.activeElement.matches('[data-search]')`))
		// The protocol types the slash although the page handled it.
		b.run("an empty box", chromedp.KeyEvent(kb.Backspace), until(`document.activeElement.value === ''`))
		b.run("a part of an error", chromedp.KeyEvent("declined"+kb.Enter), until(`document.querySelectorAll('.spans tbody tr').length === 7`))
		if got := b.list(`.spans .failed`); len(got) != 7 || got[0] != "card declined" {
			t.Errorf("in their rows, the errors are %q", got)
		}
		onto(`.spans a.name`)
		b.run("the next but one", chromedp.KeyEvent("j"+kb.ArrowDown+"k"))
		id := get(b, chromedp.Evaluate[string](`document.activeElement.dataset.id`))
		b.run("its graph", enter, visible(`.graph canvas`))
		if query := b.at().Query().Get("query"); id == "" || !strings.Contains(query, id) {
			t.Errorf("of span %q it shows %s", id, query)
		}
		onto(`.graph canvas`)
		b.run("a frame", chromedp.KeyEvent(kb.ArrowDown+kb.ArrowDown), visible(`.tip`))

		b.run("the names", navigate(address), visible(`.spans tbody tr`))
		onto(`.pages a[href*=names]`)
		b.run("the table", enter, visible(`.bynames tbody tr`))
		onto(`[data-by=waits] button`)
		b.run("by waits", enter, until(`document.querySelector('.bynames .name').textContent === 'POST /order'`))
		shows(b, "that the focus stays on the column", `document.activeElement.matches('[data-by=waits] button')`, true)
		b.run("the times", navigate(address), visible(`.versions a`))
		onto(`.versions a`)
		b.run("compare them", enter, visible(`.sides`))
	})
	b.check(address)
}
