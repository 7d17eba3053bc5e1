// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"net/url"

	"github.com/chromedp/chromedp"
)

// presses has each page count how often the pointer is pressed, for all pages of the tab.
const presses = `addEventListener('pointerdown', (e) => {
	if (e.isTrusted) sessionStorage.presses = Number(sessionStorage.presses ?? 0) + 1;
}, true);`

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

// task does something that takes a number of clicks.
func (b *browser) task(name string, clicks int, do func()) {
	b.t.Helper()
	before := b.presses()
	do()
	n := b.presses() - before
	if n != clicks {
		b.t.Errorf("%s took %d clicks, want %d", name, n, clicks)
	}
	b.t.Logf("%s: %d clicks", name, n)
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
