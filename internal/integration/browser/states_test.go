// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
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
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
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

// profiling is the status of a process with a profiler that runs.
var profiling = viewer.WithStatus(func() viewer.Status { return viewer.Status{Running: true} })

// awaits waits for a text, which an answer that is on its way changes.
func (b *browser) awaits(what, selector, want string) {
	b.t.Helper()
	got := ""
	for end := time.Now().Add(stepTime); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if got = b.text(selector); regexp.MustCompile(want).MatchString(got) {
			return
		}
	}
	b.t.Errorf("%s: %s has %q, want %s", what, selector, got, want)
}

// TestStates has a page that waits for its answers, and one without a server.
func TestStates(t *testing.T) {
	o := newShop(t)
	on := &stage{Handler: viewer.Handler(o.store, profiling)}
	server := httptest.NewServer(on)
	t.Cleanup(server.Close)
	b := newBrowser(t)
	// held opens a page while answers are held back.
	held := func(page, waiting string) {
		on.mu.Lock()
		defer on.mu.Unlock()
		b.run("on its way: "+page, navigate(server.URL+page), until(waiting))
	}
	held("/", `document.querySelector('.count')?.textContent === 'Loading spans …'`)
	b.run("its rows", until(`document.querySelectorAll('.spans tbody tr').length === 100`), settled)
	func() {
		on.mu.Lock()
		defer on.mu.Unlock()
		b.run("another order that is on its way",
			chromedp.Click(css(`.choice label:has([value=slowest])`)),
			until(`document.querySelector('.list > section').getAttribute('aria-busy') === 'true'`))
	}()
	b.run("it has come", until(`document.querySelector('.list > section').getAttribute('aria-busy') === 'false'`))

	on.down.Store(true)
	b.run("the server is gone", visible(`.pill.gone`))
	b.awaits("since when", `.pill`, `^no answer since \d\d:\d\d:\d\d$`)
	b.awaits("the alert", `#alert`, `^The server has not answered since \d\d:\d\d:\d\d \(.*\): the page is from then`)
	shows(b, "the rows that are left", `document.querySelectorAll('.spans tbody tr').length`, 100)
	b.screenshots("gone")
	on.down.Store(false)
	b.run("it is back", visible(`.pill.on`), chromedp.WaitNotVisible(css(`#alert`)))

	held("/names", `document.querySelector('.tools [role=status]')?.innerText === 'Summing the spans …' && !document.querySelector('.bynames').checkVisibility()`)
	b.run("the names", visible(`.bynames tbody tr`))
	held("/?query=.cpu", `document.querySelector('main').textContent === 'Summing the samples …'`)
	b.run("the graph", visible(`.graph canvas`))
}

// TestNarrowFrame finds a frame without a pixel, and copies its link.
func TestNarrowFrame(t *testing.T) {
	s, p := newStore(t), newCPU()
	p.add([]int64{2, 2e7}, nil, "shop.narrow", "main.serve")
	p.add([]int64{19998, 19998e7}, nil, "internal/bytealg.IndexByte", "main.serve")
	export(t, s, exporter.Window{Kind: exporter.KindCPU, Start: time.Now(), Duration: shopWindow, Resource: ofShop}, p)
	address := serve(t, s)
	b := newBrowser(t)
	b.run("search it", navigate(address+"?query=.cpu"), visible(`.graph canvas`), chromedp.SendKeys(css(`.graph [data-search]`), "narrow"))
	b.awaits("found", `.found`, `^0\.01 % of the total \(20\.0 ms\)`)
	b.awaits("packages", `.panel .chips`, `^internal/bytealg\s*100`)
	b.screenshots("narrow-frame")
	b.run("zoom to it by keyboard", chromedp.Focus(css(`.graph canvas`)), chromedp.KeyEvent("n"), settled, chromedp.KeyEvent(kb.Enter))
	b.awaits("the zoom", `.detail .about`, `^shop\.narrow\s*20\.0 ms, 0\.01 % of the total`)
	get(b, chromedp.Evaluate[bool](`(navigator.clipboard.writeText = async (text) => { window.copied = text; }, true)`))
	b.run("copy the link", click(`.copied button`), until(`window.copied !== undefined`))
	if copied := get(b, chromedp.Evaluate[string](`copied`)); !regexp.MustCompile(`from=\d{13}&until=\d{13}`).MatchString(copied) {
		t.Errorf("the link is %q", copied)
	}
}

// TestRunningSpan shows a span that goes on. Its graph stays as zoomed as it was.
func TestRunningSpan(t *testing.T) {
	s := newStore(t)
	tp := sdktrace.NewTracerProvider(sdktrace.WithResource(ofShop), sdktrace.WithSpanProcessor(s.SpanProcessor()))
	_, span := spanprof.NewTracerProvider(tp).Tracer("").Start(t.Context(), "still running", trace.WithTimestamp(time.Now().Add(-time.Minute)))
	takes := func() {
		t.Helper()
		p := newCPU()
		p.add([]int64{10, 1e8}, ofSpan(span, "still running"), "main.work", "main.serve")
		export(t, s, exporter.Window{Kind: exporter.KindCPU, Start: time.Now().Add(-30 * time.Second), Duration: shopWindow, Resource: ofShop}, p)
	}
	b := newBrowser(t)
	id := span.SpanContext().SpanID().String()
	b.run("a span that runs", navigate(serve(t, s, profiling)+"?query="+url.QueryEscape(fmt.Sprintf(".cpu{profile_id=%q}", id))))
	b.awaits("its time", `.tiles`, `^Duration so far`)
	before := b.text(`.tiles`)
	b.run("it goes on", until(fmt.Sprintf(`document.querySelector('.tiles').innerText !== %q`, before)))
	takes()
	b.run("its graph", visible(`.graph canvas`), settled, chromedp.Focus(css(`.graph canvas`)), chromedp.KeyEvent(kb.ArrowDown+kb.ArrowDown+kb.Enter))
	b.awaits("a part of it", `.detail .about`, `^main\.work\s*100 ms, 100\.0 % of the total`)
	takes()
	b.awaits("more of it, as zoomed as before", `.detail .about`, `^main\.work\s*200 ms, 100\.0 % of the total`)
	span.End()
	b.run("it ends", until(`document.querySelector('.tiles').innerText.startsWith('Duration\n')`))
}

// lacking is a source that cannot be searched as a whole, as a Pyroscope server.
type lacking struct{ store.Source }

type lackingView struct{ store.View }

func (s lacking) View(ctx context.Context, from, until time.Time) (store.View, error) {
	v, err := s.Source.View(ctx, from, until)
	return lackingView{v}, err
}

func (v lackingView) Info() store.Info {
	info := v.View.Info()
	info.Lacks = store.LacksUpdates | store.LacksRecords | store.LacksWindows
	return info
}

// TestSourceThatLacks does not offer what the source cannot do.
func TestSourceThatLacks(t *testing.T) {
	address := serve(t, lacking{newShop(t).store})
	b := newBrowser(t)
	b.run("the list of spans", navigate(address), visible(`.spans a.name`))
	shows(b, "hidden conditions", `[...document.querySelectorAll('.tools .check, .tools select, .tools label:has([value=slowest])')].every((e) => e.hidden)`, true)
	b.run("the log", navigate(address+"log"), visible(`main h1`))
	if text := b.text(`main`); strings.Contains(text, "Counters") || strings.Contains(text, "Memory") && strings.Contains(text, "0 B of 0 B") {
		t.Errorf("the log has %q", text)
	}
	b.check(address)
}
