// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"math"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
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
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	epoch := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	ms := func(n int) time.Time { return epoch.Add(time.Duration(n) * time.Millisecond) }
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor())).Tracer("test")
	ctx, root := tracer.Start(t.Context(), "GET /", trace.WithTimestamp(ms(0)))
	_, child := tracer.Start(ctx, "query", trace.WithTimestamp(ms(500)))
	child.SetAttributes(attribute.String("pyroscope.profile.id", "x")) // As spans with labels of their own have it.
	child.End(trace.WithTimestamp(ms(700)))
	root.End(trace.WithTimestamp(ms(1000)))

	id := func(s trace.Span) string { return s.SpanContext().SpanID().String() }
	f := &profile.Function{ID: 1, Name: "main.main"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	export := func(start int, labels []map[string][]string, counts ...int64) {
		t.Helper()
		p := &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
			PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
			Period:     1e7,
			Location:   []*profile.Location{l},
			Function:   []*profile.Function{f},
		}
		for i, n := range counts {
			p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{n, n * 1e7}, Label: labels[i]})
		}
		window := exporter.Window{Kind: exporter.KindCPU, Start: ms(start), Duration: time.Second}
		if err := s.Export(t.Context(), exporter.NewParsedProfile(window, p)); err != nil {
			t.Fatal(err)
		}
	}
	own := func(s trace.Span) map[string][]string {
		return map[string][]string{"profile_id": {id(s)}, "span_id": {id(s)}}
	}
	export(0, []map[string][]string{own(root), own(child), {"ended_span_id": {id(child)}}}, 4, 10, 3)
	server := httptest.NewServer(viewer.Handler(s))
	t.Cleanup(server.Close)

	b := newBrowser(t)
	open := func(s trace.Span) {
		t.Helper()
		b.run("a span",
			chromedp.Navigate(server.URL+"/?view=trace&query="+url.QueryEscape(`.cpu{profile_id="`+id(s)+`"}`)),
			chromedp.WaitVisible(css(`.lane`)))
	}
	check := func(class string, want ...[]float64) {
		t.Helper()
		got := get(b, chromedp.Evaluate[[][]float64](strings.ReplaceAll(laneBars, "%CLASS%", "'"+class+"'")))
		// Bars have two pixels at least, and times are rounded.
		near := func(a, b float64) bool { return math.Abs(a-b) < 0.01 }
		if !slices.EqualFunc(got, want, func(a, b []float64) bool { return slices.EqualFunc(a, b, near) }) {
			t.Errorf("%s are at %.3v, want %v", class, got, want)
		}
	}
	open(child)
	check(`i.wall`, []float64{0, 1}, []float64{0.5, 0.7})
	check(`i.cpu`, []float64{0, 1}, []float64{0.5, 0.7})
	if got := get(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll('.lane i.cpu')].map((i) => getComputedStyle(i).height)`)); !slices.Equal(got, []string{"1px", "4px"}) {
		t.Errorf("the heights of CPU time are %v, want a pixel at least, and the half of 8", got)
	}
	check(`i.late`, nil, []float64{0.7, 0.73})
	b.screenshots("lanes")
	b.run("what it did after its end",
		click(`.after a`),
		chromedp.WaitVisible(css(`.graph canvas`)))
	if title := b.text(`h1`); title != "After the end of query" {
		t.Errorf("the title is %q", title)
	}
	b.screenshots("afterend")

	b.check(server.URL + "/")
}
