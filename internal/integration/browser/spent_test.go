// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// stacks makes a profile of samples with the labels of spans.
type stacks struct {
	*profile.Profile
	kind exporter.Kind
	at   map[string]*profile.Location
}

func newStacks(kind exporter.Kind) *stacks {
	name := string(kind)
	return &stacks{kind: kind, at: map[string]*profile.Location{}, Profile: &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: name, Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: name, Unit: "nanoseconds"}, Period: 1e7,
	}}
}

// add adds n samples of 10 ms.
func (s *stacks) add(span trace.Span, name string, n int64, leafFirst ...string) {
	var stack []*profile.Location
	for _, f := range leafFirst {
		if s.at[f] == nil {
			fn := &profile.Function{ID: uint64(len(s.Function) + 1), Name: f}
			s.Function = append(s.Function, fn)
			s.at[f] = &profile.Location{ID: fn.ID, Address: fn.ID, Line: []profile.Line{{Function: fn}}}
			s.Location = append(s.Location, s.at[f])
		}
		stack = append(stack, s.at[f])
	}
	id := span.SpanContext().SpanID().String()
	s.Sample = append(s.Sample, &profile.Sample{Location: stack, Value: []int64{n, n * 1e7}, Label: map[string][]string{
		"profile_id": {id}, "span_id": {id}, "trace_id": {span.SpanContext().TraceID().String()}, "span_name": {name},
	}})
}

func (s *stacks) export(t *testing.T, to *store.Store, start time.Time, res *resource.Resource) {
	t.Helper()
	if err := to.Export(t.Context(), exporter.NewParsedProfile(exporter.Window{Kind: s.kind, Start: start, Duration: 10 * time.Second, Resource: res}, s.Profile)); err != nil {
		t.Fatal(err)
	}
}

// checkSpent compares what the page says of the time of a span with the same question as text,
// and with what go tool pprof says of the samples that the page links to.
func checkSpent(b *browser) {
	b.t.Helper()
	parts := b.list(`.spent p:first-of-type span`)
	shown := strings.Replace(b.text(`.spent b`), "Of", "spent of", 1) + " " + strings.Join(parts, ", ")
	asText := strings.ReplaceAll(textOf(b.t, b.at().String()), "%", " %")
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	if !strings.Contains(words(asText), words(shown)) {
		b.t.Errorf("the page has %q, which the text has not:\n%s", shown, asText)
	}
	query := get(b, chromedp.Evaluate[string](`new URL(document.querySelector('.spent a').href).searchParams.get('query')`))
	waited := pprofTop(b.t, profileOf(b.at(), query), "wall")
	for i, want := range []time.Duration{waited.cum["sync.(*Mutex).lockSlow"], waited.flat["main.render"], waited.cum["internal/poll.runtime_pollWait"]} {
		class := []string{"mutex", "running", "network"}[i]
		if want == 0 || i >= len(parts) || !strings.HasPrefix(parts[i], class+" "+onPage(want)+" ") {
			b.t.Errorf("the page has %q, go tool pprof has %v of %s", parts, want, class)
		}
	}
}

// checkFunctions compares the table of functions that the page shows with that of go tool pprof.
func checkFunctions(b *browser, index string) {
	b.t.Helper()
	at := b.at()
	want := map[string][]string{}
	table := pprofTop(b.t, profileOf(at, at.Query().Get("query")), index)
	for name, cum := range table.cum {
		want[name] = []string{onPage(table.flat[name]), onPage(cum)}
	}
	got := get(b, chromedp.Evaluate[map[string][]string](`Object.fromEntries([...document.querySelectorAll('.functions tbody tr')].map((tr) => [tr.querySelector('[title]').title.split('\\n')[0], [...tr.querySelectorAll('td.num')].map((td) => td.innerText)]))`))
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		b.t.Errorf("go tool pprof (-) and the page (+):\n%s", diff)
	}
}

// TestWhyItWaited opens a slow span whose query waits for a lock, and reads what its time
// went to.
func TestWhyItWaited(t *testing.T) {
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	shop := resource.NewSchemaless(attribute.String("service.name", "shop"))
	tracer := sdktrace.NewTracerProvider(sdktrace.WithResource(shop), sdktrace.WithSpanProcessor(s.SpanProcessor())).Tracer("")
	epoch := time.Now().Add(-time.Minute).Truncate(time.Second)
	ms := func(n int) trace.SpanEventOption {
		return trace.WithTimestamp(epoch.Add(time.Duration(n) * time.Millisecond))
	}
	cpu, wall := newStacks(exporter.KindCPU), newStacks(exporter.KindWall)
	var slow trace.Span
	for i, waits := range []int64{10, 20, 60} {
		ctx, root := tracer.Start(t.Context(), "GET /checkout", ms(1000*i), trace.WithAttributes(attribute.String("http.route", "/checkout")))
		_, query := tracer.Start(ctx, "reserve stock", ms(1000*i+200), trace.WithAttributes(attribute.String("db.query.text", "UPDATE stock SET n = n - 1")))
		for _, span := range []trace.Span{root, query} {
			span.SetAttributes(attribute.String("pyroscope.profile.id", span.SpanContext().SpanID().String()))
		}
		query.End(ms(1000*i + 200 + 10*int(waits)))
		root.End(ms(1000*i + 300 + 10*int(waits)))
		cpu.add(root, "GET /checkout", 15, "main.render", "main.checkout", "main.serve")
		cpu.add(query, "reserve stock", int64(2*(i+1)), "main.reserve", "main.checkout", "main.serve")
		wall.add(root, "GET /checkout", 16, "main.render", "main.checkout", "main.serve")
		wall.add(root, "GET /checkout", 12, "runtime.gopark", "runtime.netpollblock", "internal/poll.runtime_pollWait", "net.(*conn).Read", "main.serve")
		wall.add(query, "reserve stock", waits, "runtime.gopark", "runtime.semacquire1", "sync.runtime_SemacquireMutex", "sync.(*Mutex).lockSlow", "main.reserve", "main.checkout", "main.serve")
		slow = root
	}
	cpu.export(t, s, epoch, shop)
	newStacks(exporter.KindCPU).export(t, s, epoch.Add(10*time.Second), shop)
	wall.export(t, s, epoch, shop)
	server := httptest.NewServer(viewer.Handler(s))
	t.Cleanup(server.Close)
	b := newBrowser(t)
	matches := func(selector, want string) {
		t.Helper()
		if text := b.text(selector); !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("%s has %q, want %s", selector, text, want)
		}
	}
	// graphBelow has the graph of a window of 900 pixels begin below these blocks and no others, no
	// lower than most: the head with the title and the tiles, the bar of the span's time or the time
	// line, the actions, the row of views and kinds, and the graph's own tools.
	graphBelow := func(most float64, want ...string) {
		t.Helper()
		_, y, _ := b.box(`.graph canvas`)
		blocks := get(b, chromedp.Evaluate[[]string](`(() => {
			const above = (e) => (e.matches('article') ? [] : [...above(e.parentElement), ...[...e.parentElement.children].slice(0, [...e.parentElement.children].indexOf(e))]);
			return above(document.querySelector('.flame')).flatMap((e) => (e.className ? e : [...e.children])).filter((e) => e.offsetHeight).map((e) => e.className);
		})()`))
		if !slices.Equal(blocks, want) || y > most {
			t.Errorf("the graph begins at %v below %q, want %v at most below %q", y, blocks, most, want)
		}
	}

	b.run("the spans", size(1280, 900), navigate(server.URL+"/"), visible(`.spans tbody tr`))
	b.task("why this slow span waited", 2, func() {
		b.run("the slowest one", click(`[value=slowest]`), until(`location.search.includes('order=slowest')`), click(`.spans tbody tr .name`), visible(`.graph canvas`))
	})
	matches(`.spent`, `(?s)^Of 880 ms in samples, of 900 ms: ?\s*mutex 600 ms ± .* ms \(68\.2 %\)\s*running 160 ms ± .* \(18\.2 %\)\s*network 120 ms`)
	checkSpent(b)
	graphBelow(380, "head", "spent", "actions", "both", "tools")
	b.screenshots("waited")
	b.run("its trace", click(`[data-tab=trace]`), chromedp.WaitVisible(css(`.trace .lane`)))
	if names := get(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll('.trace .name')].map((e) => e.textContent)`)); len(names) != 2 || names[1] != "reserve stock" {
		t.Errorf("the trace has %q", names)
	}
	b.screenshots("waited-trace")
	b.run("its details", click(`[data-tab=details]`), chromedp.WaitVisible(css(`.ids`)))
	matches(`.ids`, `Service\s*shop[\s\S]*Profile\s*`+slow.SpanContext().SpanID().String())
	matches(`.described`, `(?s)http\.route\s*/checkout.*db\.query\.text \(reserve stock\)\s*UPDATE stock`)
	b.screenshots("waited-details")
	b.run("against its baseline",
		click(`.actions a:nth-child(2)`),
		chromedp.WaitVisible(css(`.diff tbody tr`)),
		chromedp.WaitVisible(css(`.graph canvas`)))
	matches(`.sides`, `(?s)^All spans of this name, each with those below it\s*570 ms.*190 ms for each of 3 spans.*GET /checkout and all below it\s*210 ms`)
	b.run("for each span",
		click(`.diff label:has([value=span])`),
		until(`document.querySelector('.diff td.num')?.innerText.includes('ms') || document.querySelector('.diff .halves').innerText.includes('No function')`),
		until(`location.search.includes('per=span')`))
	b.screenshots("waited-baseline")
	get(b, chromedp.Evaluate[bool](`(history.back(), true)`))
	b.run("back", chromedp.WaitVisible(css(`.spent a`)))
	b.task("where it waited", 1, func() {
		b.run("the link", click(`.spent a`), visible(`.graph canvas`))
	})
	matches(`.tiles`, `880 ms`)
	b.run("its functions", click(`[data-tab=functions]`), visible(`.functions tbody tr`))
	checkFunctions(b, "wall")
	b.run("the name", chromedp.Navigate(server.URL+"/?query="+url.QueryEscape(`.cpu{span_name="GET /checkout"}`)), chromedp.WaitVisible(css(`.graph canvas`)), chromedp.WaitVisible(css(`.strip canvas`)))
	graphBelow(490, "head", "card strip", "actions", "both", "tools")
	b.screenshots("waited-name")
	b.check(server.URL + "/")
}
