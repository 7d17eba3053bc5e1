// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestKeyboardOnly finds a slow request, sorts the names and compares times without a mouse.
func TestKeyboardOnly(t *testing.T) {
	o := newShop(t, false, 72)
	address := o.serve(t)
	b := newBrowser(t)
	// onto presses Tab until the focus is on an element.
	onto := func(selector string) {
		t.Helper()
		b.run("the way to "+selector, settled)
		for range 60 {
			b.run("on with Tab", chromedp.KeyEvent(kb.Tab))
			if get(b, chromedp.Evaluate[bool](fmt.Sprintf(`document.activeElement.matches(%q)`, selector))) {
				if seen := get(b, chromedp.Evaluate[bool](`document.activeElement.matches(':focus-visible')`)); !seen {
					t.Errorf("the focus on %s is not visible", selector)
				}
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
		b.picture("keyboard-list")
		id := get(b, chromedp.Evaluate[string](`document.activeElement.dataset.id`))
		b.run("its graph", enter, visible(`.graph canvas`))
		if query := b.at().Query().Get("query"); id == "" || !strings.Contains(query, id) {
			t.Errorf("of span %q it shows %s", id, query)
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
		b.run("the times", navigate(address), visible(`.versions a`))
		onto(`.versions a`)
		b.picture("keyboard-versions")
		b.run("compare them", enter, visible(`.sides`))
	})
	b.check(address)
}

// TestNamesOnAPhone reads the table of names and the tabs of a graph on a phone.
func TestNamesOnAPhone(t *testing.T) {
	address := newShop(t, false, 72).serve(t)
	b := newBrowser(t)
	b.wear(tours[2])
	b.run("the names", navigate(address+"names"), visible(`.bynames tbody tr`))
	b.picture("phone-names")
	// The other columns scroll while the name stays.
	if x := get(b, chromedp.Evaluate[float64](`(() => {
		const box = document.querySelector('.scroll');
		box.scrollLeft = 1000;
		return box.scrollLeft > 0 ? document.querySelector('.bynames .name').getBoundingClientRect().left : -1;
	})()`)); x < 0 || x > 390 {
		t.Errorf("the name is at %v", x)
	}
	b.run("its graph", click(`.bynames .name`), visible(`.graph canvas`), click(`[data-tab=details]`), chromedp.Reload(), visible(`.query`))
	for _, width := range []int64{390, 844, 320} { // The phone is turned, and a smaller one.
		b.run("another width", size(width, 844))
		b.picture(fmt.Sprint("phone-details-", width))
	}
	b.check(address)
}
