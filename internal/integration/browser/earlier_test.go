// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"fmt"
	"net/http/httptest"
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

// The list, the page of a span and the log mark what an earlier process left in a directory. They
// do not mark spans and windows of this process.
func TestEarlierProcess(t *testing.T) {
	dir := t.TempDir()
	open := func() *store.Store {
		s, err := store.New(store.WithDirectory(dir, 8<<20))
		if err != nil {
			t.Fatal(err)
		}
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for s.Stats().Directory.Restoring {
			select {
			case <-tick.C:
			case <-t.Context().Done():
				t.Fatal("the directory is never restored")
			}
		}
		return s
	}
	start := time.Now().Add(-time.Minute).Truncate(time.Second)
	earlier := open()
	slow := recordSlow(t, earlier, "v1", "GET /slow before", start)
	if err := earlier.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := open()
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	own := recordSlow(t, s, "v2", "GET /slow now", start.Add(30*time.Second))
	server := httptest.NewServer(viewer.Handler(s))
	t.Cleanup(server.Close)

	b := newBrowser(t)
	b.run("the list",
		chromedp.Navigate(server.URL+"/?order=slowest"),
		chromedp.WaitVisible(css(fmt.Sprintf(`a.name[data-id=%q]`, slow))),
		chromedp.WaitVisible(css(fmt.Sprintf(`a.name[data-id=%q]`, own))))
	marked := get(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll('.spans .tag.earlier')].map((e) => [e.closest('tr').querySelector('a.name').dataset.id, e.innerText, e.title].join(': '))`))
	if len(marked) != 1 || !strings.HasPrefix(marked[0], slow+": earlier process: ") {
		t.Errorf("marked are %q, want the span %s alone", marked, slow)
	}
	b.screenshots("earlier-spans")

	b.run("the span of the earlier process",
		click(fmt.Sprintf(`a.name[data-id=%q]`, slow)),
		chromedp.WaitVisible(css(`.graph canvas`)),
		chromedp.WaitVisible(css(`h1 .tag.earlier`)))
	if text := b.text(`main`); !strings.Contains(text, "GET /slow before") || !strings.Contains(text, "his span is of an earlier process") {
		t.Errorf("the page of the span is %q", text)
	}
	b.screenshots("earlier-span")
	b.run("the span of this process",
		chromedp.Navigate(server.URL+"/?query="+fmt.Sprintf(".cpu%%7Bprofile_id=%%22%s%%22%%7D", own)),
		chromedp.WaitVisible(css(`.graph canvas`)))
	if n := get(b, chromedp.Evaluate[int](`document.querySelectorAll('.tag.earlier').length`)); n != 0 {
		t.Errorf("the page of a span of this process has %d marks of an earlier one", n)
	}

	b.run("the windows in the log",
		chromedp.Navigate(server.URL+"/log"),
		chromedp.WaitVisible(css(`.plain .tag.earlier`)))
	windows := get(b, chromedp.Evaluate[[]string](`[...document.querySelector('.plain').querySelectorAll('tbody tr')].map((e) => [...e.cells].slice(0, 3).map((c) => c.innerText).join('|'))`))
	if got := strings.Join(windows, "; "); got != "cpu earlier process|shop v1|1; cpu|shop v2|1" {
		t.Errorf("the windows are %q", got)
	}
	b.screenshots("earlier-log")
	b.check(server.URL + "/")

	// spanprof view shows the directory without its process.
	page := startView(t, dir)
	b.run("spanprof view of the directory",
		chromedp.Navigate(page+"?order=slowest"),
		chromedp.WaitVisible(css(fmt.Sprintf(`a.name[data-id=%q]`, slow))),
		chromedp.WaitVisible(css(`.spans .tag.earlier`)),
		click(fmt.Sprintf(`a.name[data-id=%q]`, slow)),
		chromedp.WaitVisible(css(`.graph canvas`)),
		chromedp.WaitVisible(css(`h1 .tag.earlier`)))
}

// recordSlow records a span of three seconds with its samples, and returns its id.
func recordSlow(t *testing.T, s *store.Store, version, name string, start time.Time) string {
	t.Helper()
	res := resource.NewSchemaless(attribute.String("service.name", "shop"), attribute.String("service.version", version))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor()), sdktrace.WithResource(res))
	_, span := tp.Tracer("").Start(t.Context(), name, trace.WithTimestamp(start))
	span.End(trace.WithTimestamp(start.Add(3 * time.Second)))
	id := span.SpanContext().SpanID().String()
	f := &profile.Function{ID: 1, Name: "main.slow"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	p := exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: start, Duration: 10 * time.Second, Resource: res}, &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1e7, TimeNanos: start.UnixNano(), DurationNanos: 10e9,
		Function: []*profile.Function{f}, Location: []*profile.Location{l},
		Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{200, 2e9}, Label: map[string][]string{"profile_id": {id}, "span_id": {id}, "span_name": {name}}}},
	})
	if err := s.Export(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	return id
}
