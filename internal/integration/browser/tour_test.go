// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
)

// starved fills a store with forty searches. The last one waits 5.5 of its 6 seconds for a CPU.
func starved(t *testing.T) string {
	t.Helper()
	s := newStore(t)
	tracer := newTracer(s, ofShop)
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
		span.SetAttributes(attribute.String("pyroscope.profile.id", span.SpanContext().SpanID().String()))
		add := func(p *cpuProfile, d time.Duration, stack ...string) {
			p.add([]int64{int64(d / (10 * time.Millisecond)), int64(d)}, ofSpan(span, "GET /search"), stack...)
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
		export(t, s, exporter.Window{Kind: kind, Start: start, Duration: 50 * time.Second, Resource: ofShop}, p)
	}
	return serve(t, s)
}

// TestTour does what the page is for, in all looks. It counts the clicks from the list.
func TestTour(t *testing.T) {
	address := starved(t)
	b := newBrowser(t)
	for _, l := range tours {
		b.wear(l)
		b.tour(address, l.name)
	}
	b.check(address)
}

func (b *browser) tour(address, look string) {
	b.t.Helper()
	list := func() { b.run("the list", navigate(address), visible(`.spans tbody tr`), settled) }
	list()
	b.picture("tour-list-" + look)
	b.task("which request", 0, func() {
		if row := b.text(`.spans tbody tr`); !strings.Contains(row, "url.query q=39") || strings.Contains(row, "status_code") {
			b.t.Errorf("the first row is %q", row)
		}
	})
	slowest := func() {
		b.run("the slowest", click(`.choice [value=slowest]`), until(`document.querySelector('.spans tbody tr td[data-label=wall]').innerText === '6.00 s'`), click(`.spans a.name`), visible(`.graph canvas`))
	}
	b.task("the slowest span, and why", 2, func() {
		slowest()
		want := regexp.MustCompile(`^6\.00 s: 37\d ms on a CPU \(67 % regexp\.\(\*machine\)\.step\), 5\.50 s ready but without a CPU, 125 ms mutex\. Others of this name: 120 ms at the median; the difference is the wait for a CPU\.$`)
		if got := b.text(`.answer .sentence`); !want.MatchString(got) {
			b.t.Errorf("the answer is %q", got)
		}
	})
	if parts := b.list(`.answer .parts i`); len(parts) != 3 {
		b.t.Errorf("the bar has %d parts, want 3", len(parts))
	}
	b.picture("tour-span-" + look)
	span := b.at().String()
	b.task("which line", 3, func() {
		list()
		slowest()
		b.run("the functions", click(`[data-tab=functions]`), visible(`.functions .lines`))
		if got := b.text(`.functions tbody tr`); !regexp.MustCompile(`regexp\.\(\*machine\)\.step\s+line 26\d 66\.\d %`).MatchString(got) {
			b.t.Errorf("the first function is %q", got)
		}
	})
	b.picture("tour-lines-" + look)
	b.task("its callers", 1, func() {
		b.run("the callers", click(`.functions tbody button`), visible(`.callers canvas`))
		if got := b.text(`.about-function`); !strings.Contains(got, "regexp.(*machine).step") || !strings.Contains(got, "line 26") {
			b.t.Errorf("the function is %q", got)
		}
	})
	b.picture("tour-callers-" + look)
	b.run("back to the span", navigate(span), visible(`.graph canvas`))
	b.task("share it", 1, func() {
		b.run("copy", click(`.copied button`), visible(`.copied [role=status]`))
		if note := b.text(`.copied [role=status]`); !strings.HasPrefix(note, "127.0.0.1 means this machine") {
			b.t.Errorf("the note is %q", note)
		}
	})
	b.task("a search", 1, func() {
		b.run("search", click(`.graph [data-search]`), chromedp.SendKeys(css(`.graph [data-search]`), "add"), until(`document.querySelector('.found').innerText.startsWith('33.')`))
	})
	b.picture("tour-search-" + look)
	b.task("against others", 1, func() {
		b.run("compare", click(`.actions .primary`), visible(`.diff table`))
		if text := b.text(`.diff`); !strings.Contains(text, "may be chance") {
			b.t.Errorf("the comparison is %q", text)
		}
	})
	b.picture("tour-comparison-" + look)

	list()
	b.run("a search without hits", chromedp.SendKeys(css(`[data-search]`), "nothing like it"), visible(`.empty h2`))
	if rows := b.list(`.spans tr`); len(rows) > 0 {
		b.t.Errorf("without hits there are %d rows", len(rows))
	}
}

// frozen downloads the page that is shown, and opens the file. No request may leave the file.
func (b *browser) frozen(name string, l look) {
	b.t.Helper()
	dir := b.t.TempDir()
	b.run("where downloads go", chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{Behavior: "allow", DownloadPath: dir})
		return err
	}))
	var files []string
	b.task("a frozen report of "+name, 1, func() {
		b.run("download", click(`[download][href*="format=frozen"]`))
		for end := time.Now().Add(stepTime); len(files) == 0 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			files, _ = filepath.Glob(filepath.Join(dir, "*.html"))
		}
	})
	if len(files) != 1 {
		b.t.Fatalf("the downloads of %s are %q", name, files)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Size() == 0 || info.Size() > 5<<20 {
		b.t.Errorf("%s: %v, error %v, want at most 5 MiB", files[0], info.Size(), err)
	} else {
		b.t.Logf("the file of %s has %d kB", name, info.Size()/1000)
	}
	b.mu.Lock()
	before := len(b.requests)
	b.mu.Unlock()
	b.wear(l)
	b.run("the file of "+name, navigate("file://"+files[0]), visible(`main h1, main .spans`), settled)
	b.picture("frozen-" + name + "-" + l.name)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, request := range b.requests[before:] {
		if !strings.HasPrefix(request, "data:") && request != "file://"+files[0] {
			b.t.Errorf("the file of %s requests %s", name, request)
		}
	}
}

// graphPainted reports whether a graph has pixels.
const graphPainted = `[...document.querySelectorAll('.graph canvas')].every((c) => c.width > 0 && c.getContext('2d').getImageData(0, 0, c.width, 30).data.some((v) => v > 0))`

// TestFrozenPage downloads a span, a comparison and the list, and reads the files without a network.
func TestFrozenPage(t *testing.T) {
	address := starved(t)
	for _, l := range []look{tours[0], tours[3]} {
		b := newBrowser(t)
		b.wear(l)
		b.run("the slowest span", navigate(address+"?order=slowest"), visible(`.spans tbody tr`), click(`.spans a.name`), visible(`.graph canvas`))
		span := b.at().String()
		b.frozen("span", l)
		shows(b, "the sentence", `document.querySelector('.answer .sentence').innerText.slice(0, 7)`, "6.00 s:")
		shows(b, "the parts of the bar", `document.querySelectorAll('.answer .parts i').length`, 3)
		shows(b, "that the graph is painted", graphPainted, true)
		b.run("its lines", click(`[data-tab=functions]`), visible(`.functions .lines`), chromedp.NavigateBack(), visible(`.graph canvas`))
		b.run("a page that is not in the file", click(`.pages a[href*=log]`), visible(`.empty`))
		if got := b.text(`.empty`); !strings.Contains(got, "This downloaded page does not have that part.") {
			t.Errorf("the page shows %q", got)
		}
		b.run("the comparison", navigate(span), visible(`.graph canvas`), click(`.actions .primary`), visible(`.diff table`))
		b.frozen("comparison", l)
		shows(b, "the differences", `document.querySelectorAll('.diff tbody tr').length > 0`, true)
		shows(b, "that the graph is painted", graphPainted, true)
		b.run("the list", navigate(address+"?order=slowest"), visible(`.spans tbody tr`))
		b.frozen("list", l)
		shows(b, "the rows", `document.querySelectorAll('.spans tbody tr').length`, 40)
		shows(b, "the sums by name", `document.querySelector('.names li').textContent.startsWith('GET /search40 spans')`, true)
		b.run("the slowest span of the file", click(`.spans a.name`), visible(`.graph canvas`), settled)
		shows(b, "the sentence", `document.querySelector('.answer .sentence').innerText.slice(0, 7)`, "6.00 s:")
		shows(b, "that the graph is painted", graphPainted, true)
		b.run("back, and the table of names", chromedp.NavigateBack(), visible(`.spans tbody tr`), click(`.pages a:nth-child(2)`), visible(`.bynames tbody tr`))
	}
}
