// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestLostZoom opens a link with a zoom that the graph does not have, with and without a search. The
// page notes it, and shows all of the graph.
func TestLostZoom(t *testing.T) {
	address := newShop(t, true, 10).serve(t)
	b := newBrowser(t)
	of := func(name string) string {
		return address + "?query=" + url.QueryEscape(`.cpu{span_name="`+name+`"}`)
	}
	b.run("what queries take", navigate(of("query")), visible(`.graph canvas`), settled, chromedp.Focus(css(`.graph canvas`)),
		chromedp.KeyEvent(kb.ArrowDown+kb.ArrowDown+kb.ArrowDown+kb.Enter), until(`document.querySelector('.detail .about').innerText.startsWith('sql.query')`))
	zoom := b.at().Query().Get("zoom")
	if zoom == "" {
		t.Fatal("the address has no zoom")
	}
	const refusal = "this graph does not have the zoomed frame of the address"
	for search, want := range map[string]string{"": "", "serve": "100.0 % of the total (" + onPage(pprofTotal(t, address+"profile?query="+url.QueryEscape(`.cpu{span_name="GET /cart"}`))) + "); "} {
		b.run("the same zoom elsewhere", navigate(of("GET /cart")+"&zoom="+zoom+"&search="+search), visible(`.graph canvas`), settled)
		if got := b.text(`.found`); !strings.HasPrefix(got, want+refusal) {
			t.Errorf("search %q: the page says %q, want %q", search, got, want+refusal)
		}
		shows(b, "what is zoomed to", `[document.querySelector('.detail').checkVisibility(), document.querySelector('.tools button:last-child').disabled].join()`, "false,true")
		// It is forgotten with the next thing that is done.
		b.run("a zoom to what is there", chromedp.Focus(css(`.graph canvas`)), chromedp.KeyEvent(kb.ArrowDown+kb.Enter), until(`document.querySelector('.detail .about').innerText.startsWith('main.serve')`), settled)
		if got := b.text(`.graph`); strings.Contains(got, refusal) {
			t.Errorf("search %q: after a zoom to what is there the page says %q", search, got)
		}
	}
	b.check(address)
}
