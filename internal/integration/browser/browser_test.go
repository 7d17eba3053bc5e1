// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/viewer"
)

// TestList has a list that changes all the time, because a span runs.
func TestList(t *testing.T) {
	o := newShop(t, profiling, viewer.WithFlush(func(context.Context) error { return errors.New("stuck") }))
	_, running := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(o.store.SpanProcessor()))).
		Tracer("").Start(t.Context(), "GET /search/slow", trace.WithTimestamp(time.Now().Add(-time.Minute)))
	t.Cleanup(func() { running.End() })
	b := newBrowser(t)
	b.run("the slowest searches", navigate(o.address+"?order=slowest&filter=search"), visible(`.spans a.name`), visible(`.strip canvas`))
	for _, l := range []look{tours[2], tours[0]} {
		b.wear(l)
		b.run("the header", chromedp.Reload(), visible(`.pill.on`), visible(`.flush`), settled)
		shows(b, "the parts of the header that moved, "+l.name, `headerShifts`, "")
	}
	b.screenshots("spans")

	polled := func(step string, actions ...action) {
		t.Helper()
		get(b, chromedp.Evaluate[bool](`(polls = 0, true)`))
		// When the second answer is there, the page has shown the first.
		b.run(step, append(actions, until(`polls > 1`))...)
	}
	polled("a flush that fails", click(`.flush`), visible(`#alert`))
	if text := b.text(`#alert`); !strings.HasSuffix(text, "stuck") {
		t.Errorf("the failed flush shows %q", text)
	}
	b.run("a click hides it", click(`#service`), chromedp.WaitNotVisible(css(`#alert`)))
	of := fmt.Sprintf(`[data-id="%s"]`, running.SpanContext().SpanID())
	for _, focused := range []string{`.flush`, `.names a.name`, `.list .tabs a`, of, `.spans tbody tr:nth-child(3) a.name`} {
		get(b, chromedp.Evaluate[bool](fmt.Sprintf(`(window.focused = document.querySelector(%q), focused.focus(), true)`, focused)))
		polled("the focus stays on " + focused)
		shows(b, "the element that "+focused+" lost the focus to", `document.activeElement === focused ? '' : document.activeElement.outerHTML.slice(0, 100)`, "")
	}
	if widest := get(b, chromedp.Evaluate[float64](`Math.max(...[...document.querySelectorAll('.spans tr + tr .bar i')].map((e) => e.offsetWidth / e.parentElement.offsetWidth))`)); widest < 0.9 {
		t.Errorf("beside a running span, the longest fills %.0f %% of a bar", 100*widest)
	}
	b.run("an id without samples", navigate(o.address+"?query="+url.QueryEscape(`.cpu{profile_id="0000000000000001"}`)), visible(`.empty`))
	polled("another query, while the page polls", chromedp.SendKeys(css(`.query input`), "another"))
	if query := get(b, chromedp.Evaluate[string](`document.activeElement.value`)); !strings.Contains(query, "another") {
		t.Errorf("the query that the user types is %q", query)
	}
	b.run("the log", navigate(o.address+"log"), visible(`.numbers dd`))
	b.screenshots("log")
}

// TestGraph zooms a graph, and walks through ranges of the time line and pages without a graph.
func TestGraph(t *testing.T) {
	address := newShop(t).address
	b := newBrowser(t)
	b.run("a span", navigate(address+"?order=cpu"), click(`.spans a.name`), visible(`.graph canvas`))
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

	b.run("a span that only waited", navigate(address+"?name="+url.QueryEscape("POST /order")), click(`.spans a.name`), visible(`.graph canvas`))
	if text := b.text(`.kinds [aria-current=page]`); !strings.HasPrefix(text, "Wall") {
		t.Errorf("a span that only waited opens on %q", text)
	}
	b.run("its CPU", click(`.kinds a:first-child`), visible(`.empty`))
	b.screenshots("empty")
	b.run("and back", click(`.empty .primary`), visible(`.graph canvas`))
	b.run("a query that cannot be read", navigate(address+"?query="+url.QueryEscape(`codesearch.cpu{span_name=~"("}`)), visible(`main [role=alert]`))
	b.screenshots("error")
	b.check(address)
}
