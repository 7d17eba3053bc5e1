// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
)

// view is the state of a page that its address has.
type view struct {
	Address, Title string
	Chosen         []string // tabs, choices, checked boxes, sorted columns
	Typed          []string
	Zoomed, Found  []string
	Rows           []string
}

// seen returns the state of a page once it has settled.
func seen(b *browser) view {
	b.t.Helper()
	b.run("the page", settled)
	return get(b, chromedp.Evaluate[view](`(() => {
		const all = (selector, text = (e) => e.innerText.trim()) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility()).map(text);
		return {
			Address: location.pathname + location.search,
			Title: document.querySelector('h1').innerText,
			Chosen: [...all('[role=tab][aria-selected=true], [aria-current=page], [aria-sort=ascending], [aria-sort=descending]'), ...all('label', (e) => e.querySelector('input')?.checked ? e.innerText : '').filter(Boolean)],
			Typed: all('main [type=search]', (e) => e.value),
			Zoomed: all('.graph .detail .about'),
			Found: all('.found'),
			Rows: all('.spans a.name, .bynames a.name, .functions .fn, .trace .name, .diff tbody .fn, .about-function h2'),
		};
	})()`))
}

// TestHistory walks through pages, back and forth. Each address shows the same page, also when it is
// opened anew.
func TestHistory(t *testing.T) {
	address := newShop(t).address
	b := newBrowser(t)
	var steps []view
	shown := func(ready string) {
		t.Helper()
		b.run("ready", visible(ready))
		steps = append(steps, seen(b))
	}
	zoomTo := func(name string, keys string) {
		t.Helper()
		b.run("zoom to "+name, settled, chromedp.Focus(css(`.graph canvas`)), chromedp.KeyEvent(keys+kb.Enter), until(fmt.Sprintf(`document.querySelector('.detail .about').innerText.startsWith(%q)`, name)))
	}

	b.run("the list", navigate(address), visible(`.spans tbody tr`), click(`[value=cpu]`), settled,
		chromedp.SendKeys(css(`[data-search]`), "search"), until(`location.search.includes('filter=search')`))
	shown(`.spans tbody tr`)
	b.run("a span", click(`.spans a.name`), visible(`.graph canvas`))
	zoomTo("main.handle", kb.ArrowDown+kb.ArrowDown)
	b.run("a search in it", chromedp.SendKeys(css(`.graph [data-search]`), "serve"), until(`location.search.includes('search=serve')`))
	shown(`.graph canvas`)
	b.run("its functions", click(`[data-tab=functions]`), visible(`.functions tbody tr`), click(`.functions [data-by=total] button`), until(`location.search.includes('sort=total')`))
	shown(`.functions tbody tr`)
	b.run("a function", click(`.functions tbody tr:first-child button`), visible(`.about-function`))
	shown(`.about-function`)
	b.run("its trace", click(`[data-tab=trace]`), visible(`.trace .name`))
	shown(`.trace .name`)
	versions := url.Values{"leftQuery": {`.cpu{service_version="v1"}`}, "rightQuery": {`.cpu{service_version="v2"}`}}
	b.run("the comparison", navigate(address+"comparison-diff?"+versions.Encode()), visible(`.diff tbody tr`), click(`.diff label:has([value=self])`), until(`location.search.includes('sort=self')`))
	zoomTo("main.serve", kb.ArrowDown)
	shown(`.diff tbody tr`)
	b.run("two graphs", click(`.actions a:first-child`), visible(`.graph:last-of-type canvas`))
	shown(`.graph canvas`)
	b.run("the names", navigate(address+"names"), visible(`.bynames tbody tr`), click(`[data-by=p95] button`), until(`location.search.includes('sort=p95')`), settled)
	shown(`.bynames tbody tr`)

	places := map[string]bool{}
	for _, v := range steps {
		places[v.Address] = true
	}
	if len(places) != len(steps) {
		t.Errorf("%d addresses of %d steps", len(places), len(steps))
	}
	check := func(what string, want view) {
		t.Helper()
		if diff := cmp.Diff(want, seen(b)); diff != "" {
			t.Errorf("%s: when it was left (-) and now (+):\n%s", what, diff)
		}
	}
	step := func(way string, i int) {
		t.Helper()
		what := fmt.Sprintf("%s to %s", way, steps[i].Address)
		b.walk(way, steps[i].Address)
		check(what, steps[i])
		b.run(what+", opened anew", chromedp.Reload(), until(ready))
		check(what+", opened anew", steps[i])
	}
	for i := len(steps) - 2; i >= 0; i-- {
		step("back", i)
	}
	for i := 1; i < len(steps); i++ {
		step("forward", i)
	}
	b.check(address)
}

// ready is true on a page with its heading.
const ready = `document.querySelector('h1')?.checkVisibility()`

// walk presses the back or forward button, and waits for the address. Nothing in the page may wait:
// it may be another page by then.
func (b *browser) walk(way, to string) {
	b.t.Helper()
	get(b, chromedp.Evaluate[bool](`setTimeout(() => history.`+way+`()) > 0`))
	ctx, cancel := context.WithTimeout(b.ctx, stepTime)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		at, err := chromedp.Run(ctx, chromedp.Evaluate[string](`(`+ready+`) ? location.pathname + location.search : ''`))
		if err == nil && at == to {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			b.t.Fatalf("%s: the address is %s, want %s; %v", way, at, to, err)
		}
	}
}
