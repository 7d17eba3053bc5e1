// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"go.opentelemetry.io/otel/attribute"
)

// TestRequests unfolds requests: every span below them has a profile of its own.
func TestRequests(t *testing.T) {
	o := newShop(t)
	b := newBrowser(t)
	b.run("the requests with most CPU time", navigate(o.address+"?order=cpu"), visible(`.spans tbody tr`), settled)
	// They may be alike for long.
	shows(b, "values can be seen", `[...document.querySelectorAll('.asides .name')].some((e) => e.checkVisibility() && e.clientWidth > 0)`, true)
	shows(b, "values that are cut", `[...document.querySelectorAll('.asides .name')].filter((e) => e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight).length`, 0)
	b.run("unfold one", click(`.spans tbody tr .fold`), until(`document.querySelectorAll('.spans tbody tr.below').length === 1`))
	b.screenshots("requests")
	b.run("fold it", click(`.spans tbody tr .fold`), until(`document.querySelector('.spans tbody tr.below') === null`))
	b.run("the attributes of a span", navigate(o.address+"?name=query&order=cpu"), click(`.spans tbody tr .name`), click(`[data-tab=details]`), visible(`.described`))
	if text := b.text(`.described`); !strings.Contains(text, "SELECT id FROM items") {
		t.Errorf("the attributes are %q", text)
	}
	b.screenshots("request")

	// A request with more spans below it than a list shows.
	tracer := newTracer(o.store, ofShop)
	ctx, root := tracer.Start(t.Context(), "GET /wide")
	for range 230 {
		_, child := tracer.Start(ctx, "row")
		child.SetAttributes(attribute.String("pyroscope.profile.id", child.SpanContext().SpanID().String()))
		child.End()
	}
	root.SetAttributes(attribute.String("pyroscope.profile.id", root.SpanContext().SpanID().String()))
	root.End()
	b.run("unfold a wide one", navigate(o.address+"?name="+url.QueryEscape("GET /wide")), click(`.spans tbody tr .fold`), visible(`.spans a[href*=below]`))
	shows(b, "the rows below it", `document.querySelectorAll('.spans tr.below a.name').length`, 200)
	shows(b, "the others", `document.querySelector('.spans tbody tr:last-child').innerText`, "and 30 more spans below it")
	b.picture("request-unfolded")
	b.run("all of them", click(`.spans a[href*=below]`), click(`.list .cutoff`), chromedp.WaitVisible(css(`.spans tbody tr:nth-child(230) a.name`)))
	b.check(o.address)
}
