// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// amount reads a number of a table's cell: a time, a count, or a dash for what is not known.
func amount(t *testing.T, text string) int64 {
	t.Helper()
	if text == "–" {
		return -1
	}
	if d, err := time.ParseDuration(strings.ReplaceAll(text, " ", "")); err == nil {
		return d.Nanoseconds()
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(text, ",", ""), 10, 64)
	if err != nil {
		t.Fatalf("%q is no amount", text)
	}
	return n
}

// checkOrder checks that the rows of a table stand in the order of a column, as they are read
// from the screen, and that its heading alone says so. Some of the rows have to differ.
func checkOrder(b *browser, what, table, by string, ascending bool) {
	b.t.Helper()
	order := "descending"
	if ascending {
		order = "ascending"
	}
	if got := get(b, chromedp.Evaluate[[]string](fmt.Sprintf(`[...document.querySelectorAll('%s thead [aria-sort]:not([aria-sort=none])')].map((e) => e.dataset.by + ' ' + e.getAttribute('aria-sort'))`, table))); !slices.Equal(got, []string{by + " " + order}) {
		b.t.Errorf("%s: the headings say %q, want %s %s", what, got, by, order)
	}
	// The cells of a column are as far from the left as its heading.
	cells := get(b, chromedp.Evaluate[[]string](fmt.Sprintf(`(() => {
		const at = document.querySelector('%s thead [data-by=%s]').cellIndex;
		return [...document.querySelectorAll('%[1]s tbody tr:has(a, button)')].map((tr) => (tr.cells[at].querySelector('a, button') ?? tr.cells[at]).innerText);
	})()`, table, by)))
	compare := strings.Compare
	if by != "name" {
		compare = func(x, y string) int { return cmp.Compare(amount(b.t, x), amount(b.t, y)) }
	}
	sorted := slices.IsSortedFunc(cells, func(x, y string) int {
		if ascending {
			return compare(x, y)
		}
		return compare(y, x)
	})
	if !sorted || len(cells) < 4 || compare(cells[0], cells[len(cells)-1]) == 0 {
		b.t.Errorf("%s: by %s, %s, the rows are %q", what, by, order, cells)
	}
}

// TestOrderOfNames sorts the table of names by each column, by a click and by the address.
func TestOrderOfNames(t *testing.T) {
	o := newShop(t, true, 30)
	o.more(t, "GET /cart", 5) // Else all names have as many spans.
	address := o.serve(t)
	b := newBrowser(t)
	const table = ".bynames"
	b.run("the names", navigate(address+"names"), visible(`.bynames tbody tr`))
	checkOrder(b, "at first", table, "cpu", false)
	for _, by := range []string{"name", "self", "waits", "spans", "errors", "p50", "p95", "max", "cpup50", "cpup95", "cpumax", "cpu"} {
		b.run("a click on "+by, click(`[data-by=`+by+`] button`), settled)
		checkOrder(b, "a click", table, by, by == "name")
		b.run("another one", click(`[data-by=`+by+`] button`), settled)
		checkOrder(b, "another click", table, by, by != "name")
		b.run("again", chromedp.Reload(), visible(`.bynames tbody tr`), settled)
		checkOrder(b, "after a reload", table, by, by != "name")
	}
	for _, dir := range []string{"asc", "desc"} {
		b.run("by the address", navigate(address+"names?sort=p95&dir="+dir), visible(`.bynames tbody tr`), settled)
		checkOrder(b, "the address", table, "p95", dir == "asc")
	}
	b.check(address)
}

// TestOrderOfFunctions sorts the table of functions, by a click and by the address.
func TestOrderOfFunctions(t *testing.T) {
	address := newShop(t, true, 30).serve(t)
	b := newBrowser(t)
	const table = ".functions"
	b.run("the functions", navigate(address+"?query=.cpu&view=functions"), visible(`.functions tbody tr`), settled)
	checkOrder(b, "at first", table, "self", false)
	for _, by := range []string{"total", "name", "self"} {
		b.run("a click on "+by, click(`.functions [data-by=`+by+`] button`), settled)
		checkOrder(b, "a click", table, by, by == "name")
		b.run("again", chromedp.Reload(), visible(`.functions tbody tr`), settled)
		checkOrder(b, "after a reload", table, by, by == "name")
		b.run("by the address", navigate(address+"?query=.cpu&view=functions&sort="+by), visible(`.functions tbody tr`), settled)
		checkOrder(b, "the address", table, by, by == "name")
	}
	b.check(address)
}
