// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/spanprof/spanprof/viewer"
)

// TestOneValueAgainstAnother compares the requests of two database queries, with two clicks
// from the box. It runs on a laptop and on a phone.
func TestOneValueAgainstAnother(t *testing.T) {
	o := newShop(t, true, 30)
	address := o.serve(t)
	for _, width := range []int64{1280, 390} {
		b := newBrowser(t)
		b.run("the spans", size(width, 844), navigate(address), visible(`.spans tbody tr`))
		b.task(fmt.Sprintf("one value against another at %d pixels", width), 2, func() {
			b.run("by query", navigate(address+"?by=db.query.text"), visible(`.asides li[data-key*=kind] button`))
			if n := get(b, chromedp.Evaluate[int](`document.querySelectorAll('.asides li[data-key*=kind]').length`)); n != 2 {
				t.Errorf("%d pixels: %d values, want 2", width, n)
			}
			b.run("compare two", click(`.asides li[data-key*="= kind0"] button`), click(`.asides li[data-key*="= kind1"] button`), visible(`.sides`))
		})
		left, right := b.checkSides("one value against another")
		for value, shown := range map[int]string{0: left, 1: right} {
			query := fmt.Sprintf(`.cpu{span.db.query.text="SELECT * FROM items WHERE kind = kind%d"}`, value)
			if total := pprofTotal(t, address+"profile?query="+url.QueryEscape(query)); shown != onPage(total) {
				t.Errorf("%d pixels: kind %d is %s on the page, %v by go tool pprof", width, value, shown, total)
			}
		}
		b.check(address)
	}
}

// TestKeyboardOnly finds a slow request, sorts the names and compares times without a mouse.
func TestKeyboardOnly(t *testing.T) {
	o := newShop(t, false, 72)
	address := o.serve(t)
	b := newBrowser(t)
	// onto presses Tab until an element has the focus.
	onto := func(selector string) {
		t.Helper()
		b.run("the way to "+selector, settled)
		for range 60 {
			b.run("on with Tab", chromedp.KeyEvent(kb.Tab))
			if get(b, chromedp.Evaluate[bool](fmt.Sprintf(`document.activeElement.matches(%q)`, selector))) {
				if seen := get(b, chromedp.Evaluate[bool](`document.activeElement.matches(':focus-visible')`)); !seen {
					t.Errorf("nobody sees that %s has the focus", selector)
				}
				return
			}
		}
		t.Fatalf("Tab does not lead to %s", selector)
	}
	enter := chromedp.KeyEvent(kb.Enter)
	b.task("by keyboard only", 0, func() {
		b.run("into the box", navigate(address), visible(`.spans tbody tr`), chromedp.KeyEvent("/"), until(`document.activeElement.matches('[data-search]')`))
		// The protocol types the slash even where the page has taken it for a command.
		b.run("an empty box", chromedp.KeyEvent(kb.Backspace), until(`document.activeElement.value === ''`))
		b.run("a part of an error", chromedp.KeyEvent("declined"+kb.Enter), until(`document.querySelectorAll('.spans tbody tr').length === 7`),
			until(`document.querySelector('.told').innerText.includes('7 spans with this')`))
		if got := b.list(`.spans .failed`); len(got) != 7 || got[0] != "card declined" {
			t.Errorf("in their rows, the errors are %q", got)
		}
		onto(`.spans a.name`)
		b.run("the next but one", chromedp.KeyEvent("j"+kb.ArrowDown+"k"))
		b.picture("keyboard-list")
		if cut := get(b, chromedp.Evaluate[int](`[...document.querySelectorAll(".spans td.when")].filter((e) => e.scrollWidth > e.clientWidth).length`)); cut > 0 {
			t.Errorf("%d times are wider than their column", cut)
		}
		id := get(b, chromedp.Evaluate[string](`document.activeElement.dataset.id`))
		b.run("its graph", enter, visible(`.graph canvas`))
		query := b.at().Query().Get("query")
		if id == "" || !strings.Contains(query, id) {
			t.Errorf("of span %q it shows %s", id, query)
		}
		if total := pprofTotal(t, address+"profile?query="+url.QueryEscape(query)); total == 0 || !strings.Contains(b.text(`.tiles`), "CPU\n"+onPage(total)) {
			t.Errorf("the tiles are %q, go tool pprof has %v", b.text(`.tiles`), total)
		}
		onto(`.graph canvas`)
		b.run("a frame", chromedp.KeyEvent(kb.ArrowDown+kb.ArrowDown), visible(`.tip`))
		b.picture("keyboard-graph")

		b.run("the names", navigate(address), visible(`.spans tbody tr`))
		onto(`.pages a[href*=names]`)
		b.run("the table", enter, visible(`.bynames tbody tr`))
		onto(`[data-by=waits] button`)
		b.run("by waits", enter, until(`document.querySelector('.bynames .name').textContent === 'POST /order'`))
		if on := get(b, chromedp.Evaluate[bool](`document.activeElement.matches('[data-by=waits] button')`)); !on {
			t.Error("the focus has left the column")
		}
		b.picture("keyboard-names")
		of := func(kind string) string {
			return address + "profile?query=" + url.QueryEscape("."+kind+`{span_name="POST /order"}`)
		}
		waits := onPage(pprofTop(t, of("wall"), "wall").total - pprofTotal(t, of("cpu")))
		if got := b.text(`.bynames tbody [data-by=waits]`); got != waits {
			t.Errorf("it waited for %s on the page, for %s by go tool pprof", got, waits)
		}
		if text := textOf(t, b.at().String()); !regexp.MustCompile(`max +name\n.* ` + regexp.QuoteMeta(waits) + ` .*  POST /order\n`).MatchString(text) {
			t.Errorf("as text, it waited not %s:\n%s", waits, text)
		}

		b.run("the times", navigate(address), visible(`[data-preset=version]`))
		onto(`[data-preset=version]`)
		b.picture("keyboard-preset")
		b.run("compare them", enter, visible(`.sides`))
		b.checkSides("by keyboard")
	})
	b.check(address)
}

// TestNamesOnAPhone has the endpoint with most CPU time in two taps.
func TestNamesOnAPhone(t *testing.T) {
	o := newShop(t, false, 72)
	address := o.serve(t)
	b := newBrowser(t)
	b.run("the spans", size(390, 844), navigate(address), visible(`.spans tbody tr`))
	b.picture("phone-spans")
	b.task("the endpoint with most CPU time on a phone", 1, func() {
		b.run("the names", click(`.pages a[href*=names]`), visible(`.bynames tbody tr`))
	})
	b.picture("phone-names")
	shown := b.text(`.bynames tbody [data-by=cpu]`)
	total := pprofTotal(t, address+"profile?query="+url.QueryEscape(`.cpu{span_name="GET /search"}`))
	if shown != onPage(total) {
		t.Errorf("%s on the phone, %v by go tool pprof", shown, total)
	}
	if text := textOf(t, address+"names"); !regexp.MustCompile(`(?m)^ *` + regexp.QuoteMeta(shown) + ` .* GET /search$`).MatchString(text) {
		t.Errorf("as text:\n%s", text)
	}
	// What is beside the window can be scrolled to while the name stays.
	if x := get(b, chromedp.Evaluate[float64](`(() => {
		const box = document.querySelector('.scroll');
		box.scrollLeft = 1000;
		return box.scrollLeft > 0 ? document.querySelector('.bynames .name').getBoundingClientRect().left : -1;
	})()`)); x < 0 || x > 390 {
		t.Errorf("the name is at %v", x)
	}
	b.run("its graph", click(`.bynames .name`), visible(`.graph canvas`))
	if text := b.text(`.tiles`); !strings.Contains(text, onPage(total)) {
		t.Errorf("the tiles are %q, want %s", text, onPage(total))
	}
	b.picture("phone-graph")
	b.run("the last tab", click(`[data-tab=details]`), chromedp.Reload(), visible(`.query`))
	b.picture("phone-details")
	for _, width := range []int64{390, 844, 320} { // The phone is turned, and a smaller one.
		b.run("another width", size(width, 844))
		b.painted()
		if right := get(b, chromedp.Evaluate[float64](`document.querySelector('[data-tab=details]').getBoundingClientRect().right`)); right > float64(width) {
			t.Errorf("%d pixels: the chosen tab ends at %.0f, beside the window", width, right)
		}
	}
	b.check(address)
}

// TestListsOfAServerThatComesBack keeps the rows of the list and of the names while the server
// is gone, and shows since when. Afterwards it shows the new spans.
func TestListsOfAServerThatComesBack(t *testing.T) {
	for page, rows := range map[string]struct{ before, after string }{
		"":      {`document.querySelectorAll('.spans tbody tr').length === 30`, `document.querySelectorAll('.spans tbody tr').length === 33`},
		"names": {`document.querySelector('.bynames tbody [data-by=spans]')?.innerText === '10'`, `document.querySelector('.bynames tbody [data-by=spans]').innerText === '11'`},
	} {
		o := newShop(t, false, 10)
		on := &stage{Handler: viewer.Handler(o.store, viewer.WithStatus(func() viewer.Status { return viewer.Status{Running: true} }))}
		server := httptest.NewServer(on)
		t.Cleanup(server.Close)
		b := newBrowser(t)
		b.run("page "+page, navigate(server.URL+"/"+page), until(rows.before))
		b.task("a server that goes and comes back, page "+page, 0, func() {
			on.down.Store(true)
			b.run("the server of "+page+" goes", visible(`#alert`), until(`document.querySelector('.pill').classList.contains('gone')`))
			if text := b.text(`#alert`); !strings.Contains(text, "has not answered since") {
				t.Errorf("page %q: the alert is %q", page, text)
			}
			b.run("its rows stay", until(rows.before))
			o.window(t, 10, "v3")
			on.down.Store(false)
			b.run("the server of "+page+" comes back", until(rows.after), chromedp.WaitNotVisible(css(`#alert`)), until(`document.querySelector('.pill').classList.contains('on')`))
		})
		// The numbers are current.
		total := pprofTotal(t, server.URL+"/profile?query="+url.QueryEscape(`.cpu{span_name="GET /search"}`))
		if page == "names" && b.text(`.bynames tbody [data-by=cpu]`) != onPage(total) {
			t.Errorf("GET /search has %s, %v by go tool pprof", b.text(`.bynames tbody [data-by=cpu]`), total)
		}
		if text := textOf(t, server.URL+"/"); page == "" && !strings.HasPrefix(text, "service shop: "+strings.TrimSuffix(b.text(`.count`), " spans")+" listed") {
			t.Errorf("the list has %s, as text:\n%s", b.text(`.count`), text)
		}
	}
}

// TestListInTheAddress has the order, the filter and the conditions of a list after a reload.
func TestListInTheAddress(t *testing.T) {
	o := newShop(t, false, 30)
	address := o.serve(t)
	b := newBrowser(t)
	// The names are beside the list, and open.
	b.run("the slowest errors", size(1600, 900), navigate(address+"?from="+strconv.FormatInt(o.start.UnixMilli(), 10)), visible(`.spans tbody tr`),
		click(`[value=slowest]`), chromedp.SendKeys(css(`[data-search]`), "order"), until(`location.search.includes('filter=order')`), click(`.check input`),
		until(`location.search.includes('filter=order') && document.querySelectorAll('.spans tbody tr').length === 3`))
	first := b.text(`.spans a.name`)
	b.run("again", chromedp.Reload(), visible(`.spans tbody tr`), until(`document.querySelectorAll('.spans tbody tr').length === 3`))
	state := get(b, chromedp.Evaluate[string](`[document.querySelector('[data-search]').value, document.querySelector('[value=slowest]').checked, document.querySelector('.check input').checked].join()`))
	if state != "order,true,true" || b.text(`.spans a.name`) != first {
		t.Errorf("after a reload the list is %q, its first row %q, was %q", state, b.text(`.spans a.name`), first)
	}
	b.run("their names", click(`.aside[open] summary + a`), visible(`.bynames tbody tr`))
	query, err := url.ParseQuery(strings.TrimPrefix(get(b, chromedp.Evaluate[string](`location.search`)), "?"))
	if err != nil || query.Get("filter") != "order" || query.Get("error") != "true" || query.Get("from") != strconv.FormatInt(o.start.UnixMilli(), 10) {
		t.Errorf("the table has the conditions %v", query)
	}
	if n := b.text(`.bynames tbody [data-by=spans]`); n != "3" {
		t.Errorf("the table has %s spans", n)
	}
	b.run("the same time", click(`.pages a`), visible(`.spans tbody tr`), until(`document.querySelectorAll('.spans tbody tr').length > 3`))
	if at := get(b, chromedp.Evaluate[string](`location.search`)); at != "?from="+strconv.FormatInt(o.start.UnixMilli(), 10) {
		t.Errorf("the list is at %s", at)
	}
	b.check(address)
}
