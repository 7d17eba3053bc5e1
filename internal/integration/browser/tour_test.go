// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"slices"
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

// starved fills a store with forty searches. The last one waits 5.5 of its 6 seconds for a CPU.
func starved(t *testing.T) string {
	t.Helper()
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	res := resource.NewSchemaless(attribute.String("service.name", "shop"))
	tracer := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithSpanProcessor(s.SpanProcessor())).Tracer("")
	start := time.Now().Add(-time.Minute)
	cpu, wall := newCPU(), newCPU()
	wall.SampleType = []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "wall", Unit: "nanoseconds"}}
	wall.PeriodType = &profile.ValueType{Type: "wall", Unit: "nanoseconds"}
	for i := range 40 {
		took, ready := 120*time.Millisecond, time.Duration(0)
		if i == 39 {
			took, ready = 6*time.Second, 5500*time.Millisecond
		}
		_, span := tracer.Start(t.Context(), "GET /search", trace.WithTimestamp(start.Add(time.Duration(i)*time.Second)), trace.WithAttributes(attribute.String("url.query", fmt.Sprint("q=", i)), attribute.Int("http.response.status_code", 200)))
		id := span.SpanContext().SpanID().String()
		span.SetAttributes(attribute.String("pyroscope.profile.id", id))
		labels := map[string][]string{"profile_id": {id}, "span_id": {id}, "span_name": {"GET /search"}}
		add := func(p *cpuProfile, d time.Duration, stack ...string) {
			p.add([]int64{int64(d / (10 * time.Millisecond)), int64(d)}, labels, stack...)
		}
		add(cpu, (took-ready)/2, "regexp.(*machine).step", "regexp.(*Regexp).doExecute", "main.search")
		add(cpu, (took-ready)/4, "regexp.(*machine).add", "regexp.(*machine).step", "regexp.(*Regexp).doExecute", "main.search")
		if ready == 0 {
			add(cpu, 20*time.Millisecond, "fmt.Fprintln", "main.search")
		}
		add(wall, ready+(took-ready)*3/4, "regexp.(*machine).step", "main.search")
		add(wall, (took-ready)/4, "runtime.gopark", "sync.runtime_SemacquireMutex", "main.search")
		span.End(trace.WithTimestamp(start.Add(time.Duration(i)*time.Second + took)))
	}
	// One function has samples at three lines.
	for _, sample := range cpu.Sample {
		leaf := *sample.Location[0]
		leaf.ID, leaf.Address, leaf.Line = uint64(len(cpu.Location)+1), uint64(len(cpu.Location)+1000), slices.Clone(leaf.Line)
		leaf.Line[0].Line = 260 + sample.Value[0]%3
		cpu.Location = append(cpu.Location, &leaf)
		sample.Location[0] = &leaf
	}
	for kind, p := range map[exporter.Kind]*cpuProfile{exporter.KindCPU: cpu, exporter.KindWall: wall} {
		if err := s.Export(t.Context(), exporter.NewParsedProfile(exporter.Window{Kind: kind, Start: start, Duration: 50 * time.Second, Resource: res}, &p.Profile)); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(viewer.Handler(s))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// TestTour does what the page is for, and counts the clicks from the list.
func TestTour(t *testing.T) {
	address := starved(t)
	b := newBrowser(t)
	list := func() { b.run("the list", navigate(address), visible(`.spans tbody tr`)) }
	list()
	b.screenshots("tour-list")
	b.task("which request", 0, func() {
		if row := b.text(`.spans tbody tr`); !strings.Contains(row, "url.query q=39") || strings.Contains(row, "status_code") {
			t.Errorf("the first row is %q", row)
		}
	})
	slowest := func() {
		b.run("the slowest", click(`.choice [value=slowest]`), until(`document.querySelector('.spans tbody tr td[data-label=wall]').innerText === '6.00 s'`), click(`.spans a.name`), visible(`.graph canvas`))
	}
	b.task("the slowest span, and why", 2, func() {
		slowest()
		want := regexp.MustCompile(`^6\.00 s: 37\d ms on a CPU \(67 % regexp\.\(\*machine\)\.step\), 5\.50 s ready but without a CPU, 125 ms mutex\. Others of this name: 120 ms at the median; the difference is the wait for a CPU\.$`)
		if got := b.text(`.answer .sentence`); !want.MatchString(got) {
			t.Errorf("the answer is %q", got)
		}
	})
	if parts := b.list(`.answer .parts i`); len(parts) != 3 {
		t.Errorf("the bar has %d parts, want 3", len(parts))
	}
	b.screenshots("tour-span")
	span := b.at().Query().Get("query")
	b.task("which line", 3, func() {
		list()
		slowest()
		b.run("the functions", click(`[data-tab=functions]`), visible(`.functions .lines`))
		if got := b.text(`.functions tbody tr`); !regexp.MustCompile(`regexp\.\(\*machine\)\.step\s+line 26\d 66\.\d %`).MatchString(got) {
			t.Errorf("the first function is %q", got)
		}
	})
	b.screenshots("tour-lines")
	b.task("its callers", 1, func() {
		b.run("the callers", click(`.functions tbody button`), visible(`.callers canvas`))
		if got := b.text(`.about-function`); !strings.Contains(got, "regexp.(*machine).step") || !strings.Contains(got, "line 26") {
			t.Errorf("the function is %q", got)
		}
	})
	b.screenshots("tour-callers")
	b.run("back to the span", navigate(address+"?query="+url.QueryEscape(span)), visible(`.graph canvas`))
	b.task("share it", 1, func() {
		b.run("copy", click(`.copied button`), visible(`.copied [role=status]`))
		if note := b.text(`.copied [role=status]`); !strings.HasPrefix(note, "127.0.0.1 means this machine") {
			t.Errorf("the note is %q", note)
		}
	})
	b.task("a search", 1, func() {
		b.run("search", click(`.graph [data-search]`), chromedp.SendKeys(css(`.graph [data-search]`), "add"), until(`document.querySelector('.found').innerText.startsWith('33.')`))
	})
	b.task("against others", 1, func() {
		b.run("compare", click(`.actions .primary`), visible(`.diff table`))
		if text := b.text(`.diff`); !strings.Contains(text, "may be chance") {
			t.Errorf("the comparison is %q", text)
		}
	})
	b.screenshots("tour-comparison")

	// A search without hits shows no row.
	list()
	b.run("a search without hits", chromedp.SendKeys(css(`[data-search]`), "nothing like it"), visible(`.empty h2`))
	if rows := b.list(`.spans tr`); len(rows) > 0 {
		t.Errorf("without hits there are %d rows", len(rows))
	}
	b.check(address)
}

// TestFrozenPage opens a page with its answers in the document: it fetches nothing but its files.
func TestFrozenPage(t *testing.T) {
	address := starved(t)
	span := answerOf[struct{ Spans []struct{ Query string } }](t, address+"?format=json&order=slowest&limit=1").Spans[0].Query
	key := "?" + url.Values{"format": {"json"}, "query": {span}}.Encode()
	answers, err := json.Marshal(map[string]json.RawMessage{key: fetch(t, address+key)})
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Replace(string(fetch(t, address+"?format=html")), "</body>", `<script type="application/json" id="frozen" data-page="./`+html.EscapeString(key)+`">`+string(answers)+"</script></body>", 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/frozen/" {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte(page))
			return
		}
		name := path.Base(r.URL.Path)
		if path.Ext(name) == ".js" {
			w.Header().Set("Content-Type", "text/javascript")
		} else if path.Ext(name) == ".css" {
			w.Header().Set("Content-Type", "text/css")
		} else {
			t.Errorf("the page asked for %s", r.URL)
		}
		_, _ = w.Write(fetch(t, address+name))
	}))
	t.Cleanup(server.Close)
	b := newBrowser(t)
	b.run("the page", navigate(server.URL+"/frozen/"), visible(`.graph canvas`))
	if got := b.text(`.answer .sentence`); !strings.HasPrefix(got, "6.00 s:") {
		t.Errorf("the answer is %q", got)
	}
	b.run("its functions", click(`[data-tab=functions]`), visible(`.functions .lines`))
	b.run("an earlier view", chromedp.NavigateBack(), visible(`.graph canvas`))
	b.run("a page that it does not have", click(`.pages a`), visible(`.empty`))
	if got := b.text(`.empty`); !strings.Contains(got, "This downloaded page does not have that part.") {
		t.Errorf("the page shows %q", got)
	}
}
