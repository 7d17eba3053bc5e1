// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// stage is a server that can hold back answers with data, and can go away.
type stage struct {
	http.Handler
	down atomic.Bool
	mu   sync.RWMutex // locked while answers are held back
}

func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.RawQuery, "format=json") {
		if s.down.Load() {
			panic(http.ErrAbortHandler) // The connection ends without an answer.
		}
		s.mu.RLock()
		defer s.mu.RUnlock()
	}
	s.Handler.ServeHTTP(w, r)
}

// methods is the number of functions of fillWide, more than a list or a graph has room for.
const methods = 4000

// fillWide puts in two windows of a program. In each, main.serve calls Method0 to Method3999
// for a sample each. It calls indexbytebody for as many as all of them.
func fillWide(t *testing.T, s *store.Store, res *resource.Resource, start time.Time) {
	t.Helper()
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1e7,
	}
	at := func(name, file string) *profile.Location {
		id := uint64(len(p.Function) + 1)
		fn := &profile.Function{ID: id, Name: name, Filename: file}
		l := &profile.Location{ID: id, Address: id, Line: []profile.Line{{Function: fn, Line: 1}}}
		p.Function, p.Location = append(p.Function, fn), append(p.Location, l)
		return l
	}
	serve := at("main.serve", "/src/main.go")
	sample := func(n int64, leaf *profile.Location) {
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{leaf, serve}, Value: []int64{n, n * 1e7}})
	}
	for i := range methods {
		sample(1, at(fmt.Sprint("shop.Method", i), "/src/shop.go"))
	}
	sample(methods, at("indexbytebody", "/usr/local/go/src/internal/bytealg/indexbyte_amd64.s"))
	for i := range 2 {
		window := exporter.Window{Kind: exporter.KindCPU, Start: start.Add(time.Duration(i) * 10 * time.Second), Duration: 10 * time.Second, Resource: res}
		if err := s.Export(t.Context(), exporter.NewParsedProfile(window, p)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStates reads the texts of a page that waits, and of one without a server. Others are of a
// span that runs, and of graphs and lists without room for all.
func TestStates(t *testing.T) {
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	shop := resource.NewSchemaless(attribute.String("service.name", "shop"))
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithResource(shop), sdktrace.WithSpanProcessor(s.SpanProcessor()))).Tracer("")
	start := time.Now().Add(-time.Minute)
	for i := range 130 {
		_, span := tracer.Start(t.Context(), fmt.Sprintf("op %03d", i), trace.WithTimestamp(start))
		span.SetAttributes(attribute.String("http.route", "/a"))
		span.End(trace.WithTimestamp(start.Add(time.Duration(i+1) * time.Millisecond)))
	}
	fillWide(t, s, shop, start)
	on := &stage{Handler: viewer.Handler(s, viewer.WithStatus(func() viewer.Status { return viewer.Status{Running: true} }))}
	server := httptest.NewServer(on)
	t.Cleanup(server.Close)
	b := newBrowser(t)
	text := func(what, selector, want string) {
		t.Helper()
		// An answer that is on its way changes the text.
		got := b.text(selector)
		for end := time.Now().Add(stepTime); time.Now().Before(end); {
			if regexp.MustCompile(want).MatchString(got) {
				return
			}
			time.Sleep(100 * time.Millisecond)
			got = b.text(selector)
		}
		t.Errorf("%s: %s has %q, want %s", what, selector, got, want)
	}
	rows := func() int {
		return get(b, chromedp.Evaluate[int](`document.querySelectorAll('.spans tbody tr').length`))
	}
	open := func(step string, params ...string) {
		t.Helper()
		v := url.Values{}
		for i := 0; i < len(params); i += 2 {
			v.Set(params[i], params[i+1])
		}
		b.run(step, chromedp.Navigate(server.URL+"/?"+v.Encode()))
	}

	// held does something while answers are held back.
	held := func(do func()) {
		on.mu.Lock()
		defer on.mu.Unlock()
		do()
	}
	held(func() {
		open("a list that is on its way")
		b.run("it says so", until(`document.querySelector('.count')?.textContent === 'Loading spans …'`))
	})
	b.run("its rows", until(`document.querySelectorAll('.spans tbody tr').length === 100`))
	b.run("the names", chromedp.WaitVisible(css(`.names`)))
	text("more names", `.aside:first-child > button`, `^Show 92 more names, `)
	b.run("nothing else is on its way", settled)
	held(func() {
		b.run("another order that is on its way",
			chromedp.Click(css(`.choice label:has([value=slowest])`)), // What is asked for meanwhile is held back too.
			until(`document.querySelector('.list > section').getAttribute('aria-busy') === 'true'`))
	})
	b.run("it has come", until(`document.querySelector('.list > section').getAttribute('aria-busy') === 'false'`))
	text("the slowest", `.spans tbody tr .name`, `^op 129$`)

	on.down.Store(true)
	b.run("the server is gone", chromedp.WaitVisible(css(`.pill.gone`)))
	text("since when", `.pill`, `^no answer since \d\d:\d\d:\d\d$`)
	text("the alert", `#alert`, `^The server has not answered since \d\d:\d\d:\d\d \(.*\): the page is from then`)
	if n := rows(); n != 100 {
		t.Errorf("%d rows are left, want 100", n)
	}
	b.screenshots("gone")
	on.down.Store(false)
	b.run("it is back", chromedp.WaitVisible(css(`.pill.on`)), chromedp.WaitNotVisible(css(`#alert`)))
	text("it is back", `.pill`, `^profiling$`)

	held(func() {
		b.run("names that are on their way", navigate(server.URL+"/names"),
			until(`document.querySelector('.tools [role=status]')?.innerText === 'Summing the spans …' && !document.querySelector('.bynames').checkVisibility()`))
	})
	b.run("the names", visible(`.bynames tbody tr`))
	text("their number", `.tools [role=status]`, `^130 names of 130 spans`)

	held(func() {
		open("a graph that is on its way", "query", ".cpu")
		b.run("it says so", until(`document.querySelector('main').textContent === 'Summing the samples …'`))
	})
	b.run("the graph", chromedp.WaitVisible(css(`.graph canvas`)), chromedp.WaitVisible(css(`.strip canvas`)))
	text("packages", `.panel .chips`, `(?s)^internal/bytealg\s*50\.0 %.*shop\s*50\.0 %`)
	b.run("search a narrow frame",
		chromedp.SendKeys(css(`.graph [data-search]`), "Method1999"),
		until(`document.querySelector('.found').textContent.includes('total')`))
	text("found", `.found`, `^0\.01 % of the total \(20\.0 ms\)`)
	b.screenshots("found-in-cut")
	b.run("zoom to it by keyboard",
		chromedp.Focus(css(`.graph canvas`)),
		chromedp.KeyEvent("n"),
		settled,
		chromedp.KeyEvent(kb.Enter),
		until(`document.querySelector('.found').textContent.endsWith('100.0 % of the zoomed frame')`))
	text("the zoom", `.detail .about`, `^shop\.Method1999\s*20\.0 ms, 0\.01 % of the total`)
	if search := get(b, chromedp.Evaluate[string](`location.search`)); !strings.Contains(search, "search=Method1999") {
		t.Errorf("the address is %q", search)
	}
	zoomed := b.text(`.detail .about`)
	b.run("both after a reload", chromedp.Reload(), until(`document.querySelector('.found')?.textContent.endsWith('100.0 % of the zoomed frame')`))
	if got := b.text(`.detail .about`); got != zoomed {
		t.Errorf("after a reload it is zoomed to %q, was %q", got, zoomed)
	}
	get(b, chromedp.Evaluate[bool](`(navigator.clipboard.writeText = async (text) => { window.copied = text; }, true)`))
	b.run("copy the link", click(`.copied button`), until(`window.copied !== undefined`))
	if copied := get(b, chromedp.Evaluate[string](`copied`)); !regexp.MustCompile(`from=\d{13}&until=\d{13}`).MatchString(copied) {
		t.Errorf("the link is %q", copied)
	}
	x, y, width := b.box(`.strip canvas`)
	b.run("the second range",
		chromedp.DragAndDropXY(x+width*0.6, y+20, x+width*0.9, y+20),
		chromedp.WaitVisible(css(`.chosen .another`)),
		click(`.chosen .another`),
		chromedp.DragAndDropXY(x+width*0.1, y+20, x+width*0.4, y+20),
		chromedp.WaitVisible(css(`.chosen .primary`)))
	text("the ranges", `.chosen`, `Compare the first range with this one\s*Drop$`)
	if strings.Contains(b.text(`.chosen`), "false") {
		t.Errorf("the ranges have %q", b.text(`.chosen`))
	}

	_, running := tracer.Start(t.Context(), "still running", trace.WithTimestamp(time.Now().Add(-time.Minute)))
	id := running.SpanContext().SpanID().String()
	open("a span that runs", "query", fmt.Sprintf(".cpu{profile_id=%q}", id))
	b.run("its time", chromedp.WaitVisible(css(`.tiles`)))
	text("its time", `.tiles`, `^Duration so far`)
	before := b.text(`.tiles`)
	b.run("it goes on", until(fmt.Sprintf(`document.querySelector('.tiles').innerText !== %q`, before)))
	takes := func() {
		t.Helper()
		p := newCPU()
		p.add([]int64{10, 1e8}, map[string][]string{"profile_id": {id}, "span_id": {id}}, "main.work", "main.serve")
		window := exporter.Window{Kind: exporter.KindCPU, Start: time.Now().Add(-30 * time.Second), Duration: 10 * time.Second, Resource: shop}
		if err := s.Export(t.Context(), exporter.NewParsedProfile(window, &p.Profile)); err != nil {
			t.Fatal(err)
		}
	}
	takes()
	b.run("its graph", visible(`.graph canvas`), settled, chromedp.Focus(css(`.graph canvas`)), chromedp.KeyEvent(kb.ArrowDown+kb.ArrowDown+kb.Enter))
	text("a part of it", `.detail .about`, `^main\.work\s*100 ms, 100\.0 % of the total`)
	takes()
	text("more of it, as zoomed as before", `.detail .about`, `^main\.work\s*200 ms, 100\.0 % of the total`)
	running.End()
	b.run("it ends", until(`document.querySelector('.tiles').innerText.startsWith('Duration\n')`))
}
