// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"net/url"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// mostClicks is how many clicks something that people come for may take.
const mostClicks = 3

// presses has each page count how often the pointer is pressed, for all pages of the tab.
const presses = `addEventListener('pointerdown', (e) => {
	if (e.isTrusted) sessionStorage.presses = Number(sessionStorage.presses ?? 0) + 1;
}, true);`

// countPresses lets task know of the clicks on all pages that come.
func countPresses(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
	_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: presses})
	return chromedp.Void{}, err
}

// presses returns how often the pointer was pressed so far.
func (b *browser) presses() int {
	b.t.Helper()
	return get(b, chromedp.Evaluate[int](`(() => {
		try {
			return Number(sessionStorage.presses ?? 0);
		} catch {
			return 0; // It has no page yet.
		}
	})()`))
}

// task does what people come for, which takes as many clicks.
func (b *browser) task(name string, clicks int, do func()) {
	b.t.Helper()
	if clicks > mostClicks {
		b.t.Errorf("%s takes %d clicks, want %d at most", name, clicks, mostClicks)
	}
	before := b.presses()
	do()
	n := b.presses() - before
	if n != clicks {
		b.t.Errorf("%s took %d clicks, want %d", name, n, clicks)
	}
	b.t.Logf("%s: %d of %d clicks", name, n, mostClicks)
}

// picture writes what is shown now.
func (b *browser) picture(name string) {
	b.t.Helper()
	if err := os.MkdirAll(screenshots, 0o755); err != nil {
		b.t.Fatal(err)
	}
	b.painted()
	if err := os.WriteFile(filepath.Join(screenshots, name+".png"), get(b, chromedp.CaptureScreenshot()), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// list returns the text of each element that can be seen.
func (b *browser) list(selector string) []string {
	b.t.Helper()
	return get(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll(`+"`"+selector+"`"+`)].filter((e) => e.checkVisibility()).map((e) => e.innerText)`))
}

// at returns the address of the page.
func (b *browser) at() *url.URL {
	b.t.Helper()
	u, err := url.Parse(get(b, chromedp.Evaluate[string](`location.href`)))
	if err != nil {
		b.t.Fatal(err)
	}
	return u
}
