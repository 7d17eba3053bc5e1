// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
)

// laneBars returns the bars of a class in each row of a trace: pairs of start and end, as shares of the
// time of the trace.
const laneBars = `[...document.querySelectorAll('.trace li')].map((li) => {
	const lane = li.querySelector('.lane').getBoundingClientRect();
	return [...li.querySelectorAll(%CLASS%)].flatMap((i) => {
		const box = i.getBoundingClientRect();
		return [(box.left - lane.left) / lane.width, (box.right - lane.left) / lane.width];
	});
})`

// TestLanes has a span of a second with its child.
func TestLanes(t *testing.T) {
	s := newStore(t)
	epoch := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	ms := func(n int) trace.SpanEventOption {
		return trace.WithTimestamp(epoch.Add(time.Duration(n) * time.Millisecond))
	}
	tracer := newTracer(s, ofShop)
	ctx, root := tracer.Start(t.Context(), "GET /", ms(0))
	_, child := tracer.Start(ctx, "query", ms(500))
	id := child.SpanContext().SpanID().String()
	child.SetAttributes(attribute.String("pyroscope.profile.id", id)) // As spans with labels of their own have it.
	child.End(ms(700))
	root.End(ms(1000))
	p := newCPU()
	p.add([]int64{4, 4e7}, ofSpan(root, "GET /"), "main.main")
	p.add([]int64{10, 1e8}, ofSpan(child, "query"), "main.main")
	p.add([]int64{3, 3e7}, map[string][]string{"ended_span_id": {id}}, "main.main")
	export(t, s, exporter.Window{Kind: exporter.KindCPU, Start: epoch, Duration: time.Second, Resource: ofShop}, p)
	address := serve(t, s)

	b := newBrowser(t)
	b.run("a span", navigate(address+"?view=trace&query="+url.QueryEscape(`.cpu{profile_id="`+id+`"}`)), visible(`.lane`))
	check := func(class string, want ...[]float64) {
		t.Helper()
		got := get(b, chromedp.Evaluate[[][]float64](strings.ReplaceAll(laneBars, "%CLASS%", "'"+class+"'")))
		// Bars have two pixels at least, and times are rounded.
		near := func(a, b float64) bool { return math.Abs(a-b) < 0.01 }
		if !slices.EqualFunc(got, want, func(a, b []float64) bool { return slices.EqualFunc(a, b, near) }) {
			t.Errorf("%s are at %.3v, want %v", class, got, want)
		}
	}
	check(`i.wall`, []float64{0, 1}, []float64{0.5, 0.7})
	check(`i.cpu`, []float64{0, 1}, []float64{0.5, 0.7})
	if got := get(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll('.lane i.cpu')].map((i) => getComputedStyle(i).height)`)); !slices.Equal(got, []string{"1px", "4px"}) {
		t.Errorf("the heights of CPU time are %v, want a pixel at least, and the half of 8", got)
	}
	check(`i.late`, nil, []float64{0.7, 0.73})
	b.screenshots("lanes")
	b.run("what it did after its end", click(`.after a`), visible(`.graph canvas`))
	if title := b.text(`h1`); title != "After the end of query" {
		t.Errorf("the title is %q", title)
	}
	b.screenshots("afterend")

	b.check(address)
}
