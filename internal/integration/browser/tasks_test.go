// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"fmt"
	"math"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
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

// more adds spans of a name, which have no samples.
func (o *shop) more(t *testing.T, name string, spans int) {
	t.Helper()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "shop"))), sdktrace.WithSpanProcessor(o.store.SpanProcessor())).Tracer("")
	for range spans {
		_, span := tracer.Start(t.Context(), name, trace.WithTimestamp(o.start))
		span.End(trace.WithTimestamp(o.start.Add(time.Millisecond)))
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

// TestNameTable finds the endpoint with most CPU time in one click, in both scopes.
func TestNameTable(t *testing.T) {
	for scope, allSpans := range map[string]bool{"local roots": false, "all spans": true} {
		o := newShop(t, allSpans, 72)
		address := o.serve(t)
		b := newBrowser(t)
		b.run("the spans", navigate(address), visible(`.spans tbody tr`))
		b.task("the endpoint with most CPU time, "+scope, 1, func() {
			b.run("the names", click(`.pages a:nth-child(2)`), visible(`.bynames tbody tr`))
			if name := b.text(`.bynames tbody .name`); name != "GET /search" {
				t.Errorf("%s: %s has most CPU time", scope, name)
			}
		})
		// The endpoint's work equals the sum of its traces in go tool pprof.
		var traces []string
		for _, span := range answerOf[struct{ Spans []struct{ TraceID string } }](t, address+"?format=json&limit=1000&name=GET+%2Fsearch").Spans {
			traces = append(traces, span.TraceID)
		}
		total := pprofTotal(t, address+"profile?query="+url.QueryEscape(`.cpu{trace_id=~"`+strings.Join(traces, "|")+`"}`))
		if got := b.text(`.bynames tbody [data-by=cpu]`); got != onPage(total) || total != 10040*time.Millisecond {
			t.Errorf("%s: it has %s on the page, %v by go tool pprof", scope, got, total)
		}
		text := string(fetch(t, address+"names?format=text"))
		if !regexp.MustCompile(`(?m)^ *` + regexp.QuoteMeta(onPage(total)) + ` .* GET /search$`).MatchString(text) {
			t.Errorf("%s: as text:\n%s", scope, text)
		}
		if allSpans {
			b.screenshots("names")
		}

		b.run("who fails", click(`[data-by=errors] button`), until(`document.querySelector('.bynames .name').textContent === 'POST /order'`))
		if sorted := b.text(`.bynames [aria-sort=descending]`); sorted != "Errors" {
			t.Errorf("%s: it is sorted by %q", scope, sorted)
		}
		b.run("and after a reload", chromedp.Reload(), until(`document.querySelector('.bynames .name')?.textContent === 'POST /order'`))
		b.run("the failed ones", click(`.bynames .err`), visible(`.spans tbody tr`))
		if n := get(b, chromedp.Evaluate[int](`document.querySelectorAll('.spans tbody tr').length`)); n != 7 {
			t.Errorf("%s: %d spans failed, want 7", scope, n)
		}
		b.run("the other way round", navigate(address+"names?sort=p95"), visible(`.bynames tbody tr`),
			click(`[data-by=p95] button`), until(`document.querySelector('.bynames .name').textContent === '`+map[bool]string{false: "GET /cart", true: "GET /cart"}[allSpans]+`'`))
		b.run("a part of it", navigate(address+"names?limit=1"), visible(`.bynames [data-key=omitted]`))
		if text := b.text(`.bynames [data-key=omitted]`); !strings.Contains(text, map[bool]string{false: "2 more names", true: "3 more names"}[allSpans]) {
			t.Errorf("%s: left out are %q", scope, text)
		}
		if text := b.text(`.bynames [data-key=unlabelled]`); !strings.Contains(text, "720 ms") {
			t.Errorf("%s: without a name are %q", scope, text)
		}
		b.check(address)
	}
}

// TestFindBox finds the request of a log line, in two clicks.
func TestFindBox(t *testing.T) {
	o := newShop(t, true, 30)
	address := o.serve(t)
	b := newBrowser(t)
	find := func(text string) {
		b.run("find "+text, navigate(address), visible(`.spans tbody tr`), chromedp.SendKeys(css(`[data-search]`), text+kb.Enter))
	}
	b.run("the spans", navigate(address), visible(`.spans tbody tr`))
	b.task("a trace id of a log", 2, func() {
		b.run("the box", click(`[data-search]`), chromedp.KeyEvent(o.failed+kb.Enter),
			until(`document.querySelectorAll('.spans tbody tr').length === 1`))
		if text := b.text(`.conditions`); !strings.Contains(text, "of trace "+o.failed) {
			t.Errorf("the conditions are %q", text)
		}
		if text := b.text(`.spans .failed`); text != "card declined" {
			t.Errorf("in its row, the error is %q", text)
		}
		b.run("its graph", click(`.spans a.name`), visible(`.graph canvas`))
	})
	total := pprofTotal(t, address+"profile?query="+url.QueryEscape(`.cpu{trace_id="`+o.failed+`"}`))
	if text := b.text(`.tiles`); !strings.Contains(text, onPage(total)) || total != 20*time.Millisecond {
		t.Errorf("the tiles are %q, go tool pprof has %v", text, total)
	}
	find(`level=error msg="card declined" trace_id=` + o.failed + ` span_id=` + o.failedSpan)
	b.run("the span of the line", visible(`.graph canvas`))
	if title := b.text(`h1`); !strings.HasPrefix(title, "POST /order") {
		t.Errorf("the span of the line is %q", title)
	}
	find("url.query=page=3")
	if got := b.text(`.conditions`); !strings.HasPrefix(got, "with url.query=page=3") {
		t.Errorf("an attribute is understood as %q", got)
	}
	find("CARD decl")
	b.run("an error text", until(`document.querySelectorAll('.spans tbody tr').length === 3`))
	find(`.cpu{span_name="query"}`)
	b.run("a query", visible(`.graph canvas`))
	if title := b.text(`h1`); title != "query" {
		t.Errorf("the query shows %q", title)
	}
	b.check(address)
}

// comparedWith returns the totals on both sides of the comparison that the page shows.
func (b *browser) comparedWith() (left, right string) {
	b.t.Helper()
	return b.text(`.side:nth-child(1) strong`), b.text(`.side:nth-child(2) strong`)
}

// topOfSide returns go tool pprof's answer for one side of the comparison on the page.
func (b *browser) topOfSide(side string) top {
	b.t.Helper()
	at := b.at()
	of := url.Values{"query": {at.Query().Get(side + "Query")}}
	for _, end := range []string{"From", "Until"} {
		if v := at.Query().Get(side + end); v != "" {
			of.Set(strings.ToLower(end), v)
		}
	}
	return pprofTop(b.t, at.Scheme+"://"+at.Host+"/profile?"+of.Encode(), "cpu")
}

// checkSides compares the totals of both sides, which must differ, with go tool pprof's totals.
func (b *browser) checkSides(what string) (left, right string) {
	b.t.Helper()
	left, right = b.comparedWith()
	for side, shown := range map[string]string{"left": left, "right": right} {
		if total := b.topOfSide(side).total; shown != onPage(total) || total == 0 {
			b.t.Errorf("%s: the %s side is %s on the page, %v by go tool pprof", what, side, shown, total)
		}
	}
	if left == right {
		b.t.Errorf("%s: both sides have %s", what, left)
	}
	return left, right
}

// checkEach compares the time of functions, for each of n spans or seconds, with go tool
// pprof. It also compares the differences.
func (b *browser) checkEach(what string, n float64) {
	b.t.Helper()
	left, right := b.topOfSide("left").cum, b.topOfSide("right").cum
	got := b.differences()
	for name := range got {
		each := func(d time.Duration) string { return onPage(time.Duration(math.Round(float64(d) / n))) }
		want := []string{each(left[name]), each(right[name]), "+" + each(right[name]-left[name])}
		if left[name] > right[name] {
			want[2] = "-" + each(left[name]-right[name])
		}
		if !slices.Equal(got[name], want) {
			b.t.Errorf("%s: %s takes %q, %q by go tool pprof", what, name, got[name], want)
		}
	}
	if len(got) == 0 {
		b.t.Errorf("%s: no function differs", what)
	}
}

// differences are the numbers of each function in the table of a comparison: of both sides, and
// the change.
func (b *browser) differences() map[string][]string {
	b.t.Helper()
	return get(b, chromedp.Evaluate[map[string][]string](`Object.fromEntries([...document.querySelectorAll('.diff tbody tr')].map((tr) => [tr.querySelector('[title]').title, [...tr.querySelectorAll('td.num')].map((td) => td.innerText.replace('\u2212', '-').replace(' %', '%'))]))`))
}

// TestPresets compares a version with the last in one click.
func TestPresets(t *testing.T) {
	o := newShop(t, false, 72)
	address := o.serve(t)
	b := newBrowser(t)
	const title = "Version v2 against v1"
	b.run("the preset", navigate(address), visible(`[data-preset=version]`))
	if text := b.text(`[data-preset=version]`); text != title {
		t.Errorf("the preset is called %q, want %q", text, title)
	}
	b.task(title, 1, func() {
		b.run("compare", click(`[data-preset=version]`), visible(`.sides`))
	})
	b.checkSides(title)
	b.screenshots("preset-version")

	// Of two graphs, each has a search and a zoom in the address.
	b.run("two graphs", click(`.actions a:first-child`), visible(`.graph:last-of-type canvas`), settled,
		chromedp.Focus(css(`.graph canvas`)), chromedp.KeyEvent(kb.ArrowDown+kb.Enter), until(`location.search.includes('leftZoom=')`),
		chromedp.SendKeys(css(`.graph:last-of-type [data-search]`), "sql"), until(`location.search.includes('&search=sql')`))
	shownOfBoth := `[...document.querySelectorAll('.graph')].map((e) => e.querySelector('.found').innerText + '; ' + e.querySelector('.detail').innerText).join('\n')`
	b.run("they have come", settled)
	before := get(b, chromedp.Evaluate[string](shownOfBoth))
	b.run("both after a reload", chromedp.Reload(), visible(`.graph:last-of-type canvas`), settled)
	if got := get(b, chromedp.Evaluate[string](shownOfBoth)); got != before || !strings.Contains(got, "main.serve") || !strings.Contains(got, "% of the total (") {
		t.Errorf("after a reload the graphs have %q, had %q", got, before)
	}
	b.run("one graph", click(`.actions a:first-child`), visible(`.scale`), until(`document.querySelector('.found').innerText.includes('of the total')`))
	if text := get(b, chromedp.Evaluate[string](`document.querySelector('.graph [data-search]').value`)); text != "sql" {
		t.Errorf("the only graph searches %q", text)
	}
	if found, want := b.text(`.found`), b.topOfSide("right").cum["sql.query"]; want == 0 || !strings.Contains(found, "of the total ("+onPage(want)+")") {
		t.Errorf("the only graph has found %q, go tool pprof has %v", found, want)
	}

	// The time line is of what the list is about.
	b.run("of one name", navigate(address+"?name="+url.QueryEscape("GET /cart")), visible(`.strip canvas`),
		until(`document.querySelector('.strip .chips').innerText.trim() === 'GET /cart'`))
	b.check(address)
}
