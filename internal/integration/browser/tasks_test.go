// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// shopWindow is how long a window of a shop lasts.
const shopWindow = 10 * time.Second

// shop is a service with the requests of some minutes. GET /search does most of its work in
// a child span, and more of it since the last version.
type shop struct {
	store *store.Store
	// allSpans gives each span a profile of its own.
	allSpans bool
	start    time.Time
	// failed is the trace of a request that failed, and its span.
	failed, failedSpan string
}

// newShop fills a store with windows that end now. The last half of them are of version 2.
func newShop(t *testing.T, allSpans bool, windows int) *shop {
	t.Helper()
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	o := &shop{store: s, allSpans: allSpans, start: time.Now().Add(-time.Duration(windows) * shopWindow)}
	for i := range windows {
		o.window(t, i, "v"+strconv.Itoa(1+i*2/windows))
	}
	return o
}

// window adds the i-th window.
func (o *shop) window(t *testing.T, i int, version string) {
	t.Helper()
	res := resource.NewSchemaless(attribute.String("service.name", "shop"), attribute.String("service.version", version))
	tracer := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithSpanProcessor(o.store.SpanProcessor())).Tracer("")
	at := o.start.Add(time.Duration(i) * shopWindow)
	cpu, wall := newCPU(), newCPU()
	wall.SampleType = []*profile.ValueType{{Type: "wall", Unit: "nanoseconds"}}
	for k, r := range []struct {
		name, route string
		samples     int64
		took        time.Duration
	}{{"GET /search", "/search", int64(4 + i%5), 400 * time.Millisecond}, {"GET /cart", "/cart", 3, 90 * time.Millisecond}, {"POST /order", "/order", 2, 700 * time.Millisecond}} {
		if version == "v2" && k == 0 {
			r.samples *= 2
		}
		from := at.Add(time.Duration(k) * time.Second)
		ctx, root := tracer.Start(t.Context(), r.name, trace.WithTimestamp(from), trace.WithAttributes(attribute.String("http.route", r.route), attribute.String("url.query", fmt.Sprint("page=", i))))
		id, traceID := root.SpanContext().SpanID().String(), root.SpanContext().TraceID().String()
		root.SetAttributes(attribute.String("pyroscope.profile.id", id))
		add := func(span, name string, n int64, stack ...string) {
			labels := map[string][]string{"profile_id": {span}, "span_id": {span}, "trace_id": {traceID}, "span_name": {name}}
			cpu.add([]int64{n, n * 1e7}, labels, stack...)
		}
		add(id, r.name, r.samples, "main.handle", "main.serve")
		if k == 0 {
			text := fmt.Sprintf("SELECT * FROM items WHERE kind = kind%d", i%2)
			_, child := tracer.Start(ctx, "query", trace.WithTimestamp(from), trace.WithAttributes(attribute.String("db.query.text", text)))
			owner, name := id, r.name
			if o.allSpans {
				owner, name = child.SpanContext().SpanID().String(), "query"
				child.SetAttributes(attribute.String("pyroscope.profile.id", owner))
			}
			add(owner, name, int64(3+i%2*4), "sql.scan", "sql.query", "main.handle", "main.serve")
			child.End(trace.WithTimestamp(from.Add(r.took / 2)))
		}
		if k == 2 && i%10 == 9 {
			root.SetStatus(codes.Error, "card declined")
			o.failed, o.failedSpan = traceID, id
		}
		root.End(trace.WithTimestamp(from.Add(r.took + time.Duration(i)*time.Millisecond)))
		wall.add([]int64{int64(r.took)}, map[string][]string{"profile_id": {id}, "span_id": {id}, "trace_id": {traceID}, "span_name": {r.name}}, "net.wait", "main.handle", "main.serve")
	}
	cpu.add([]int64{1, 1e7}, nil, "runtime.gcBgMarkWorker")
	for kind, p := range map[exporter.Kind]*cpuProfile{exporter.KindWall: wall, exporter.KindCPU: cpu} {
		if err := o.store.Export(t.Context(), exporter.NewParsedProfile(exporter.Window{Kind: kind, Start: at, Duration: shopWindow, Resource: res}, &p.Profile)); err != nil {
			t.Fatal(err)
		}
	}
}

// serve returns the address of the shop's page.
func (o *shop) serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(viewer.Handler(o.store))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// cpuProfile is a profile that is being made.
type cpuProfile struct {
	profile.Profile
	known map[string]*profile.Location
}

func newCPU() *cpuProfile {
	return &cpuProfile{Profile: profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1e7,
	}, known: map[string]*profile.Location{}}
}

// add adds a sample; its stack begins at the leaf.
func (p *cpuProfile) add(values []int64, labels map[string][]string, stack ...string) {
	s := &profile.Sample{Value: values, Label: labels}
	for _, name := range stack {
		l := p.known[name]
		if l == nil {
			id := uint64(len(p.Function) + 1)
			fn := &profile.Function{ID: id, Name: name, Filename: "/src/" + name + ".go"}
			l = &profile.Location{ID: id, Address: id, Line: []profile.Line{{Function: fn, Line: 1}}}
			p.Function, p.Location = append(p.Function, fn), append(p.Location, l)
			p.known[name] = l
		}
		s.Location = append(s.Location, l)
	}
	p.Sample = append(p.Sample, s)
}

// TestNameTable finds the endpoint with most CPU time in one click, and sorts the names.
func TestNameTable(t *testing.T) {
	address := newShop(t, true, 72).serve(t)
	b := newBrowser(t)
	b.run("the spans", navigate(address), visible(`.spans tbody tr`))
	b.task("the endpoint with most CPU time", 1, func() {
		b.run("the names", click(`.pages a:nth-child(2)`), visible(`.bynames tbody tr`))
	})
	shows(b, "the first name and its CPU time", `[document.querySelector('.bynames tbody .name').innerText, document.querySelector('.bynames tbody [data-by=cpu]').innerText].join()`, "GET /search,10.0 s")
	b.screenshots("names")
	b.run("the most errors", click(`[data-by=errors] button`), until(`document.querySelector('.bynames .name').textContent === 'POST /order'`))
	b.run("and after a reload", chromedp.Reload(), until(`document.querySelector('.bynames .name')?.textContent === 'POST /order'`))
	shows(b, "the column of the order", `document.querySelector('.bynames [aria-sort=descending]').innerText`, "Errors")
	b.run("the failed ones", click(`.bynames .err`), visible(`.spans tbody tr`), until(`document.querySelectorAll('.spans tbody tr').length === 7`))
	b.check(address)
}

// TestFindBox finds the request of a log line, in two clicks.
func TestFindBox(t *testing.T) {
	o := newShop(t, true, 30)
	address := o.serve(t)
	b := newBrowser(t)
	b.run("a list without spans", navigate(address+"?error=true&min=10s"), visible(`.empty`))
	b.task("a trace id of a log", 2, func() {
		b.run("the box", click(`[data-search]`), chromedp.KeyEvent(o.failed+kb.Enter),
			until(`document.querySelectorAll('.spans tbody tr').length === 1 && location.search === '?trace=`+o.failed+`'`))
		if text := b.text(`.spans .failed`); text != "card declined" {
			t.Errorf("in its row, the error is %q", text)
		}
		b.run("its graph", click(`.spans a.name`), visible(`.graph canvas`))
	})
	find := func(text string) {
		b.run("find "+text, navigate(address), visible(`.spans tbody tr`), chromedp.SendKeys(css(`[data-search]`), text+kb.Enter))
	}
	find(`level=error msg="card declined" trace_id=` + o.failed + ` span_id=` + o.failedSpan)
	b.run("the span of the line", visible(`.graph canvas`))
	find("url.query=page=3")
	if got := b.text(`.conditions`); !strings.HasPrefix(got, "with url.query=page=3") {
		t.Errorf("an attribute is understood as %q", got)
	}
	find("CARD decl")
	b.run("an error text", until(`document.querySelectorAll('.spans tbody tr').length === 3`))
	b.check(address)
}

// TestVersions compares a version with the last one in one click.
func TestVersions(t *testing.T) {
	address := newShop(t, false, 72).serve(t)
	b := newBrowser(t)
	b.run("the versions", navigate(address), visible(`.versions a`))
	b.task("compare versions", 1, func() {
		b.run("compare", click(`.versions a`), visible(`.sides`))
	})
	b.screenshots("versions")
	// Of two graphs, each has a search and a zoom in the address.
	b.run("two graphs", click(`.actions a:first-child`), visible(`.graph:last-of-type canvas`), settled,
		chromedp.Focus(css(`.graph canvas`)), chromedp.KeyEvent(kb.ArrowDown+kb.Enter), until(`location.search.includes('leftZoom=')`),
		chromedp.SendKeys(css(`.graph:last-of-type [data-search]`), "sql"), until(`location.search.includes('&search=sql')`), settled)
	of := `[...document.querySelectorAll('.graph')].map((e) => e.querySelector('.found').innerText + '; ' + e.querySelector('.detail').innerText).join('\n')`
	before := get(b, chromedp.Evaluate[string](of))
	b.run("both after a reload", chromedp.Reload(), visible(`.graph:last-of-type canvas`), settled)
	if got := get(b, chromedp.Evaluate[string](of)); got != before || !strings.Contains(got, "main.serve") || !strings.Contains(got, "% of the total (") {
		t.Errorf("after a reload the graphs have %q, had %q", got, before)
	}
	b.run("one graph", click(`.actions a:first-child`), visible(`.scale`), until(`document.querySelector('.found').innerText.includes('of the total')`))
	shows(b, "the search of the only graph", `document.querySelector('.graph [data-search]').value`, "sql")
	// The time line has the spans of the list.
	b.run("of one name", navigate(address+"?name="+url.QueryEscape("GET /cart")), visible(`.strip canvas`),
		until(`document.querySelector('.strip .chips').innerText.trim() === 'GET /cart'`))
	b.check(address)
}
