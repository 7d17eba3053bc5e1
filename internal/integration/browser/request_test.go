// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// fillRequests adds requests with one name and different queries. Each has two child spans
// with profiles of their own.
func fillRequests(t *testing.T, s *store.Store, requests int) {
	t.Helper()
	shop := resource.NewSchemaless(attribute.String("service.name", "shop"))
	tracer := sdktrace.NewTracerProvider(sdktrace.WithResource(shop), sdktrace.WithSpanProcessor(s.SpanProcessor())).Tracer("")
	start := time.Now().Add(-time.Minute)
	fn := &profile.Function{ID: 1, Name: "main.scan"}
	at := &profile.Location{ID: 1, Address: 1, Line: []profile.Line{{Function: fn}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1e7,
		Location: []*profile.Location{at}, Function: []*profile.Function{fn},
	}
	for i := range requests {
		from := trace.WithTimestamp(start)
		until := trace.WithTimestamp(start.Add(time.Duration(100+i) * time.Millisecond))
		ctx, root := tracer.Start(t.Context(), "GET /search", from, trace.WithAttributes(
			attribute.String("http.request.method", "GET"), attribute.String("http.route", "/search"), attribute.String("url.query", fmt.Sprint("q=", i, "&sig=secret"))))
		ctx, query := tracer.Start(ctx, "query", from, trace.WithAttributes(attribute.String("db.query.text", fmt.Sprintf("SELECT id FROM item WHERE name LIKE pattern%d ORDER BY price", i%3))))
		_, parse := tracer.Start(ctx, "parse", from)
		for _, span := range []trace.Span{parse, query, root} {
			id := span.SpanContext().SpanID().String()
			span.SetAttributes(attribute.String("pyroscope.profile.id", id))
			if span != root {
				p.Sample = append(p.Sample, &profile.Sample{
					Location: []*profile.Location{at}, Value: []int64{int64(1 + i), int64(1+i) * 1e7},
					Label: map[string][]string{"profile_id": {id}, "span_id": {id}, "trace_id": {span.SpanContext().TraceID().String()}},
				})
			}
			span.End(until)
		}
	}
	if err := s.Export(t.Context(), exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: start, Duration: time.Minute, Resource: shop}, p)); err != nil {
		t.Fatal(err)
	}
}

// TestRequests finds the slow request among requests of one name. Every span has a profile
// of its own.
func TestRequests(t *testing.T) {
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	fillRequests(t, s, 6)
	server := httptest.NewServer(viewer.Handler(s))
	defer server.Close()
	b := newBrowser(t)

	b.run("the requests with most CPU time",
		chromedp.Navigate(server.URL+"/?order=cpu"),
		chromedp.WaitVisible(css(`.spans tbody tr`)))
	if n := get(b, chromedp.Evaluate[int](`document.querySelectorAll('.spans tbody tr').length`)); n != 6 {
		t.Errorf("%d rows, want one for each of 6 requests", n)
	}
	if text := b.text(`.spans tbody tr .attributes`); !strings.Contains(text, "q=5&sig=REDACTED") || !strings.Contains(text, "LIKE pattern2") {
		t.Errorf("the first row has the attributes %q", text)
	}
	b.run("unfold it",
		click(`.spans tbody tr .fold`),
		until(`document.querySelectorAll('.spans tbody tr.below').length === 2`))
	// They may be alike for long.
	shows(b, "values can be seen", `[...document.querySelectorAll('.asides .name')].some((e) => e.checkVisibility() && e.clientWidth > 0)`, true)
	shows(b, "values that are cut", `[...document.querySelectorAll('.asides .name')].filter((e) => e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight).length`, 0)
	b.screenshots("requests")
	b.run("fold it",
		click(`.spans tbody tr .fold`),
		until(`document.querySelectorAll('.spans tbody tr').length === 6`))

	b.run("search a query",
		chromedp.SendKeys(css(`[data-search]`), "like pattern1"),
		until(`document.querySelectorAll('.spans tbody tr').length === 2`))
	b.run("the attributes of a span",
		chromedp.Navigate(server.URL+"/?name=query&order=cpu"),
		chromedp.WaitVisible(css(`.spans tbody tr .name`)),
		click(`.spans tbody tr .name`),
		chromedp.WaitVisible(css(`.graph canvas`)))
	if text := b.text(`.head .attributes`); !strings.Contains(text, "SELECT id FROM item") {
		t.Errorf("in a line: %q", text)
	}
	b.run("all of them", click(`[data-tab=details]`), chromedp.WaitVisible(css(`.described`)))
	if text := b.text(`.described`); !strings.Contains(text, "SELECT id FROM item") {
		t.Errorf("the attributes are %q", text)
	}
	b.screenshots("request")

	// A request with more spans below it than a list shows.
	const children = 230
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor())).Tracer("")
	ctx, root := tracer.Start(t.Context(), "GET /wide")
	for range children {
		_, child := tracer.Start(ctx, "row")
		child.SetAttributes(attribute.String("pyroscope.profile.id", child.SpanContext().SpanID().String()))
		child.End()
	}
	root.SetAttributes(attribute.String("pyroscope.profile.id", root.SpanContext().SpanID().String()))
	root.End()
	b.run("unfold a wide one",
		navigate(server.URL+"/?name="+url.QueryEscape("GET /wide")), visible(`.spans tbody tr .fold`),
		click(`.spans tbody tr .fold`), visible(`.spans a[href*=below]`))
	shows(b, "the rows below it", `document.querySelectorAll('.spans tr.below a.name').length`, 200)
	shows(b, "the others", `document.querySelector('.spans tbody tr:last-child').innerText`, "and 30 more spans below it")
	b.picture("request-unfolded")
	b.run("all of them", click(`.spans a[href*=below]`), visible(`.list .cutoff`), click(`.list .cutoff`), visible(`.spans tbody tr:nth-child(230) a.name`))
	if text := b.text(`.count`); text != "230 spans" {
		t.Errorf("it has %s", text)
	}
	b.check(server.URL + "/")
}
