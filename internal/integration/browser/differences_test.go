// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
)

// TestDifferences holds two names against each other by shares and for each span, with the
// numbers of the text form, and for each second, with those of go tool pprof. The address has
// the measure.
func TestDifferences(t *testing.T) {
	const spans = 30 // of each name, one in a window
	o := newShop(t, false, spans)
	address := o.serve(t) + "comparison-diff?" + url.Values{"leftQuery": {`.cpu{span_name="GET /cart"}`}, "rightQuery": {`.cpu{span_name="GET /search"}`}}.Encode()
	// The shares of both sides, their difference, that for each span, and the function. The text
	// has the functions alone whose shares differ.
	shares, perSpan := map[string][]string{}, map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^ *([0-9.]+%) +([0-9.]+%) +([+-][0-9.]+ pp) +([+-]\S+ [µnm]?s)  (\S+)$`).FindAllStringSubmatch(textOf(t, address), -1) {
		shares[row[5]], perSpan[row[5]] = row[1:4], row[4]
	}
	if len(shares) != 2 {
		t.Fatalf("as text:\n%s", textOf(t, address))
	}
	b := newBrowser(t)
	checkShares := func(what string) {
		t.Helper()
		shown := b.differences()
		for _, row := range shown {
			for i, share := range row[:2] {
				// Below a tenth the text has a digit less.
				row[i] = strings.Replace(share, "0.00%", "0.0%", 1)
			}
		}
		if diff := cmp.Diff(shares, shown); diff != "" {
			t.Errorf("%s: as text (-) and on the page (+):\n%s", what, diff)
		}
	}
	checkPerSpan := func(what string) {
		t.Helper()
		b.checkEach(what, spans)
		shown := b.differences()
		for name, want := range perSpan {
			if row := shown[name]; row == nil || row[2] != want {
				t.Errorf("%s: %s takes %s more as text, %q on the page", what, name, want, row)
			}
		}
		if len(shown) != 4 {
			t.Errorf("%s: the page has %d functions, want 4", what, len(shown))
		}
	}
	measured := func(by string) string { return `document.querySelector('.diff [value=` + by + `]').checked` }

	b.run("by shares", navigate(address), visible(`.diff tbody tr`), until(measured("share")))
	checkShares("at first")
	b.run("for each span", click(`.diff label:has([value=span])`), until(`location.search.includes('per=span')`))
	checkPerSpan("a click")
	b.run("by its address", chromedp.Reload(), visible(`.diff tbody tr`), until(measured("span")))
	checkPerSpan("the address")
	b.run("for each second", click(`.diff label:has([value=second])`), until(`location.search.includes('per=second')`))
	b.checkEach("a click", spans*shopWindow.Seconds())
	b.run("by its address", chromedp.Reload(), visible(`.diff tbody tr`), until(measured("second")))
	b.checkEach("the address", spans*shopWindow.Seconds())
	b.run("by shares again", click(`.diff label:has([value=share])`), until(`!location.search.includes('per=')`))
	checkShares("a click")
	b.check(address)
}
