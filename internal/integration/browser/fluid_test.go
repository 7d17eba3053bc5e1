// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/pprof/profile"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/viewer"
)

// watchLongTasks has each page collect the tasks that keep it from answering its user for
// more than 50 ms.
const watchLongTasks = `
	window.longTasks = [];
	window.longTaskObserver = new PerformanceObserver((list) => longTasks.push(...list.getEntries()));
	longTaskObserver.observe({ type: 'longtask', buffered: true });`

// fluidBrowser is a browser that notes what its main thread does.
type fluidBrowser struct {
	*browser
	spent map[string]float64
}

// fluid does a step of a walk, and prints the long tasks that it had.
func (b *fluidBrowser) fluid(step string, actions ...action) {
	b.t.Helper()
	began := time.Now()
	b.run(step, actions...)
	b.painted()
	took := time.Since(began)
	tasks := get(b.browser, chromedp.Evaluate[[]float64](`(() => {
		const tasks = [...longTasks, ...longTaskObserver.takeRecords()];
		longTasks = [];
		return tasks.map((task) => task.duration);
	})()`))
	longest, sum := 0.0, 0.0
	for _, ms := range tasks {
		longest, sum = max(longest, ms), sum+ms
	}
	spent := b.mainThread()
	if spent["NavigationStart"] != b.spent["NavigationStart"] {
		b.spent = nil // Another page counts anew.
	}
	since := func(name string) float64 { return spent[name] - b.spent[name] }
	b.t.Logf("%-36s %d long tasks, longest %4.0f ms, together %4.0f ms; CPU time of the page %4.0f ms: style %3.0f, layout %3.0f; the step took %4d ms",
		step, len(tasks), longest, sum, since("TaskDuration"), since("RecalcStyleDuration"), since("LayoutDuration"), took.Milliseconds())
	b.spent = spent
}

// mainThread returns the CPU time of the page's main thread by what it did, in milliseconds.
func (b *fluidBrowser) mainThread() map[string]float64 {
	b.t.Helper()
	metrics := get(b.browser, func(ctx context.Context, t *chromedp.Target) ([]*performance.Metric, error) {
		result, err := cdp.Call(ctx, t, performance.GetMetrics, cdp.Empty{})
		if err != nil {
			return nil, err
		}
		return result.Metrics, nil
	})
	spent := map[string]float64{}
	for _, m := range metrics {
		spent[m.Name] = 1000 * m.Value
	}
	return spent
}

// shows checks what an expression finds on the page.
func shows[T comparable](b *browser, what, expression string, want T) {
	b.t.Helper()
	if got := get(b, chromedp.Evaluate[T](expression)); got != want {
		b.t.Errorf("%s: the page shows %v, want %v", what, got, want)
	}
}

// samplesTile is the number of samples that the heading of a profile has.
const samplesTile = `[...document.querySelectorAll('.tiles div')].find((e) => e.innerText.startsWith('Samples')).querySelector('dd').firstChild.textContent`

// flamePart is what the test needs of a part of a flame graph.
type flamePart struct{ Flame struct{ Total, Match int64 } }

// TestBusyService walks through the page of a service with 20,000 spans and 100,000 samples.
// It prints the long tasks of each step, and asserts what the page shows.
func TestBusyService(t *testing.T) {
	began := time.Now()
	s, most := newBusyStore(t)
	t.Logf("%-44s %.1f MB; took %d ms", "fill the store", float64(s.Stats().Bytes)/1e6, time.Since(began).Milliseconds())
	server := httptest.NewServer(viewer.Handler(s))
	t.Cleanup(server.Close)
	address := server.URL + "/"
	b := &fluidBrowser{browser: newBrowser(t)}
	b.run("watch long tasks", chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watchLongTasks})
		if err != nil {
			return err
		}
		_, err = cdp.Call(ctx, t, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
		return err
	}))

	// The rows of the list, and the first of them: its name and its CPU time.
	rows := func(n int) action {
		return until(fmt.Sprintf(`document.querySelector('.list > section').getAttribute('aria-busy') === 'false' && document.querySelectorAll('.spans tbody tr').length === %d`, n))
	}
	type listed struct {
		Spans []struct {
			ProfileID string
			CPUNs     time.Duration
		}
	}
	first := func(query string) {
		t.Helper()
		of := answerOf[listed](t, address+"?format=json&limit=1&"+query).Spans[0]
		shows(b.browser, "the first row with "+query, `document.querySelector('.spans a.name').dataset.id`, of.ProfileID)
		shows(b.browser, "its CPU time with "+query, `document.querySelectorAll('.spans tbody tr:first-child td.num')[1].innerText`, onPage(of.CPUNs))
	}
	b.fluid("the list", navigate(address), rows(500), visible(`.strip canvas`))
	first("")
	b.fluid("the slowest", click(`[value=slowest]`), until(`location.search.includes('slowest')`), rows(500))
	first("order=slowest")
	b.fluid("most CPU time", click(`[value=cpu]`), until(`location.search.includes('cpu')`), rows(500))
	first("order=cpu")
	b.fluid("more names beside the list", click(`.aside:first-child > button`), until(`document.querySelectorAll('.aside:first-child .names a.name').length === 500`))
	b.fluid("filter the list", chromedp.SendKeys(css(`[data-search]`), "resource/123"), rows(1+busySpans/busyNames))
	first("order=cpu&filter=resource/123")
	b.fluid("errors", navigate(address+"?error=true"), rows(busySpans/200))
	b.fluid("spans that nothing has", navigate(address+"?name=none"), visible(`.empty`))
	if text := b.text(`.empty`); !strings.Contains(text, "The store holds 20,000 ended spans") {
		t.Errorf("the list of nothing says %q", text)
	}
	b.fluid("as many rows as a page has", navigate(address+"?limit=1000"), rows(1000))

	downloaded, err := profile.ParseData(fetch(t, address+"profile?query=.cpu"))
	if err != nil {
		t.Fatal(err)
	}
	// By the profile that programs get.
	total, inPackage := time.Duration(0), map[string]bool{}
	for _, sample := range downloaded.Sample {
		total += time.Duration(sample.Value[1])
		for _, l := range sample.Location {
			if name := l.Line[0].Function.Name; strings.Contains(name, "package12.") {
				inPackage[name] = true
			}
		}
	}
	if total != busySamples*10*time.Millisecond {
		t.Errorf("the profile has %v", total)
	}
	b.fluid("the table of names", navigate(address+"names"), until(`document.querySelectorAll('.bynames tbody .name').length === 500`))
	summed := fmt.Sprintf("%d names of 20,000 spans, %s of CPU time", busyNames, onPage(total))
	shows(b.browser, "the table", `document.querySelector('.tools [role=status]').innerText`, summed)
	b.fluid("all names", click(`.scroll + button`), until(fmt.Sprintf(`document.querySelectorAll('.bynames tbody .name').length === %d`, busyNames)))
	names := answerOf[struct {
		Names []struct {
			Spans int
			CPUNs int64
		}
	}](t, address+"names?format=json&limit=1000").Names
	spans, cpu := 0, int64(0)
	for _, name := range names {
		spans, cpu = spans+name.Spans, cpu+name.CPUNs
	}
	if spans != busySpans || cpu != total.Nanoseconds() {
		t.Errorf("the names have %d spans and %v of CPU time, the profile has %v", spans, time.Duration(cpu), total)
	}
	shows(b.browser, "the spans of all rows", `[...document.querySelectorAll('.bynames tbody [data-by=spans]')].reduce((sum, td) => sum + Number(td.innerText), 0)`, busySpans)
	b.fluid("names by p95", click(`[data-by=p95] button`), until(`document.querySelector('.bynames [aria-sort=descending]').dataset.by === 'p95'`))
	b.fluid("filter the names", chromedp.SendKeys(css(`[data-search]`), "resource/12"), until(`document.querySelectorAll('.bynames tbody .name').length === 11`))

	settled := until(`document.querySelector('.graph').getAttribute('aria-busy') === 'false'`)
	b.fluid("a span", navigate(address+"?query="+url.QueryEscape(fmt.Sprintf(`.cpu{profile_id=%q}`, most))), visible(`.graph canvas`))
	shows(b.browser, "the samples of the span", samplesTile, "104")
	b.fluid("the whole process", navigate(address+"?query=.cpu"), visible(`.graph canvas`), visible(`.strip canvas`))
	shows(b.browser, "the samples of the process", samplesTile, "100,000")
	if text := b.text(`.tiles`); !strings.Contains(text, onPage(total)) {
		t.Errorf("the tiles are %q, the profile has %v", text, total)
	}
	b.fluid("zoom by keyboard", chromedp.Focus(css(`.graph canvas`)), chromedp.KeyEvent(kb.ArrowDown+kb.ArrowDown+kb.Enter), visible(`.detail`), settled)
	zoom := get(b.browser, chromedp.Evaluate[string](`new URLSearchParams(location.search).get('zoom')`))
	zoomed := time.Duration(answerOf[flamePart](t, address+"graph?format=json&query=.cpu&zoom="+zoom).Flame.Total)
	if text := b.text(`.detail .about`); zoom == "" || !strings.Contains(text, onPage(zoomed)) {
		t.Errorf("zoomed to %q the page shows %q, want %v", zoom, text, zoomed)
	}
	b.fluid("back", click(`.tools button:last-child`), chromedp.WaitNotVisible(css(`.detail`)), settled)
	b.fluid("search what is cut", chromedp.SendKeys(css(`.graph [data-search]`), "Method29"), until(`document.querySelector('.found').textContent.includes('of the total')`))
	found := time.Duration(answerOf[flamePart](t, address+"graph?format=json&query=.cpu&search=Method29").Flame.Match)
	if text := b.text(`.found`); found == 0 || !strings.Contains(text, "("+onPage(found)+")") {
		t.Errorf("the search has %q, want %v", text, found)
	}
	x, y, width := b.box(`.graph canvas`)
	var moves []action
	for i := range 20 {
		moves = append(moves, chromedp.MouseEvent(chromedp.MouseMoved, x+width*float64(i+1)/21, y+10+float64(i*20)))
	}
	b.fluid("20 moves over the graph", moves...)
	b.fluid("the functions", click(`[data-tab=functions]`), visible(`.functions tbody tr`))
	b.fluid("filter the functions", chromedp.SendKeys(css(`.functions [data-search]`), "package12."), until(fmt.Sprintf(`document.querySelector('.functions .found').textContent.startsWith('%d of ')`, len(inPackage))))
	b.fluid("callers and callees", click(`.functions tbody tr:first-child button`), visible(`.sandwich canvas`))
	x, y, width = b.box(`.strip canvas`)
	b.fluid("a part of the time line", chromedp.DragAndDropXY(x+width*0.2, y+20, x+width*0.6, y+20), visible(`.chosen .primary`))
	b.fluid("its flame graph", click(`.chosen .primary`), visible(`[data-tab=flame][aria-selected=true]`), visible(`.graph canvas`), visible(`.strip canvas`))

	b.fluid("a list that is open while spans end", navigate(address+"?limit=1000"), rows(1000))
	tracer := sdktrace.NewTracerProvider(sdktrace.WithResource(busyService), sdktrace.WithSpanProcessor(s.SpanProcessor())).Tracer("")
	for range 100 {
		_, span := tracer.Start(t.Context(), "GET /late")
		span.End()
	}
	b.fluid("100 spans that have ended since", until(`document.querySelectorAll('.spans tr [title="GET /late"]').length === 100`), rows(1000))
	b.check(address)
}
