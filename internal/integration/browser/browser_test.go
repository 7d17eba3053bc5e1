// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestBrowser walks through the viewer of the quickstart, over real samples. It needs a Chromium,
// and skips without one unless SPANPROF_BROWSER is "required".
func TestBrowser(t *testing.T) {
	b := newBrowser(t)
	address := startQuickstart(t)
	span := waitForSpan(t, address, "GET /search", func(s listedSpan) bool { return s.CPUSamples >= 25 })

	b.run("the slowest searches",
		navigate(address+"?order=slowest&filter=search"),
		visible(fmt.Sprintf(`a.name[data-id=%q]`, span.ProfileID)),
		visible(`.strip canvas`))
	for _, l := range []look{tours[2], tours[0]} {
		b.wear(l)
		b.run("the header", chromedp.Reload(), visible(`.pill.on`), visible(`.flush`), settled)
		shows(b, "the parts of the header that moved, "+l.name, `headerShifts`, "")
	}
	b.screenshots("spans")

	get(b, chromedp.Evaluate[bool](`(() => {
		const real = fetch;
		window.polls = 0;
		window.fetch = async (to, how) => {
			if (to === './flush') return new Response('spanprof: flush: stuck', { status: 500 });
			const answer = await real(to, how);
			if (!to.startsWith('./?')) return answer;
			// A span has been running for a minute.
			const data = await answer.json();
			data.spans?.unshift({ ...data.spans[0], profileId: 'running', running: true, durationNs: (60 + polls++) * 1e9 });
			return new Response(JSON.stringify(data));
		};
		return true;
	})()`))
	b.run("a flush that fails",
		click(`.flush`),
		visible(`#alert`),
		until(`polls > 1`)) // The next answer is there.
	if text := b.text(`#alert`); !strings.HasSuffix(text, "stuck") {
		t.Errorf("the failed flush shows %q", text)
	}
	b.run("a click hides it", click(`#service`), chromedp.WaitNotVisible(css(`#alert`)))
	for _, focused := range []string{`.flush`, `.names a.name`, `.list .tabs a`, `[data-id=running]`, `.spans tbody tr:nth-child(3) a.name`} {
		get(b, chromedp.Evaluate[bool](fmt.Sprintf(`(() => {
			window.focused = document.querySelector(%q);
			focused.focus();
			polls = 0;
			return true;
		})()`, focused)))
		// When the second answer is there, the page has shown the first.
		b.run("the focus stays on "+focused, until(`polls > 1`))
		shows(b, "the element that "+focused+" lost the focus to", `document.activeElement === focused ? '' : document.activeElement.outerHTML.slice(0, 100)`, "")
	}
	if widest := get(b, chromedp.Evaluate[float64](`Math.max(...[...document.querySelectorAll('.spans tr + tr .bar i')].map((e) => e.offsetWidth / e.parentElement.offsetWidth))`)); widest < 0.9 {
		t.Errorf("beside a running span, the longest fills %.0f %% of a bar", 100*widest)
	}

	b.run("a span",
		click(`.check:last-of-type input`), // Hold still.
		click(fmt.Sprintf(`a.name[data-id=%q]`, span.ProfileID)),
		visible(`.graph canvas`))
	b.screenshots("span")
	b.run("zoom by keyboard",
		chromedp.Focus(css(`.graph canvas`)),
		chromedp.KeyEvent(kb.ArrowDown+kb.ArrowDown+kb.Enter),
		visible(`.detail`),
		chromedp.WaitEnabled(css(`.tools button:last-child`)))
	if text := b.text(`.detail`); !strings.Contains(text, "of the total") {
		t.Errorf("the zoomed frame is %q", text)
	}
	b.run("back by mouse", click(`.tools button:last-child`), chromedp.WaitNotVisible(css(`.detail`)))
	x, y, width := b.box(`.graph canvas`)
	b.run("zoom by mouse",
		chromedp.MouseEvent(chromedp.MouseMoved, x+width/2, y+30), // The second row.
		visible(`.tip`),
		chromedp.MouseClickXY(x+width/2, y+30),
		visible(`.detail`))
	b.run("the lines", click(`[data-tab=functions]`), visible(`.functions .lines`))
	b.screenshots("lines")
	b.run("against the baseline", click(`.actions .primary`), visible(`.diff tbody tr`), visible(`.graph canvas`))
	if title := b.text(`h1`); title != "Against its baseline: GET /search" {
		t.Errorf("the comparison is %q", title)
	}
	b.screenshots("comparison")

	b.run("a range of the time line",
		navigate(address),
		visible(`.strip canvas`),
		chromedp.Focus(css(`.strip canvas`)),
		chromedp.KeyEvent(kb.ArrowLeft),
		visible(`.chosen .primary`),
		click(`.chosen .primary`),
		visible(`.graph canvas`),
		visible(`.strip canvas`)) // A request of its own loads it.
	b.screenshots("process")
	x, y, width = b.box(`.strip canvas`)
	b.run("two ranges of the time line",
		chromedp.DragAndDropXY(x+width*0.1, y+20, x+width*0.4, y+20),
		visible(`.chosen .another`),
		click(`.chosen .another`),
		chromedp.WaitNotPresent(css(`.chosen .another`)),
		chromedp.DragAndDropXY(x+width*0.95, y+20, x+width*0.7, y+20),
		visible(`.chosen .primary`),
		click(`.chosen .primary`),
		visible(`.diff`))
	if title := b.text(`h1`); title != "Comparison: Whole process: CPU time" {
		t.Errorf("the ranges are %q", title)
	}

	waiting := waitForSpan(t, address, "GET /slow", func(s listedSpan) bool { return s.CPUSamples == 0 && s.WallSamples > 2 })
	b.run("a span that only waited", navigate(address+"?query="+url.QueryEscape(waiting.Query)), visible(`.graph canvas`))
	if text := b.text(`.kinds [aria-current=page]`); !strings.HasPrefix(text, "Wall") {
		t.Errorf("a span that only waited opens on %q", text)
	}
	b.run("its CPU", click(`.kinds a:first-child`), visible(`.empty`))
	b.screenshots("empty")
	b.run("and back", click(`.empty .primary`), visible(`.graph canvas`))
	b.run("a query that cannot be read",
		navigate(address+"?query="+url.QueryEscape(`codesearch.cpu{span_name=~"("}`)),
		visible(`main [role=alert]`))
	b.screenshots("error")
	b.run("an id without samples", navigate(address+"?query="+url.QueryEscape(`.cpu{profile_id="0000000000000001"}`)), visible(`.empty`))
	asked := `performance.getEntriesByType('resource').filter((e) => e.name.includes('format=json')).length`
	b.run("another query", chromedp.SendKeys(css(`.query input`), "another"))
	n := get(b, chromedp.Evaluate[int](asked))
	b.run("while the page polls", until(fmt.Sprintf("%s > %d", asked, n+2)))
	if query := get(b, chromedp.Evaluate[string](`document.activeElement.value`)); !strings.Contains(query, "another") {
		t.Errorf("the query that the user types is %q", query)
	}
	b.run("the log", navigate(address+"log"), visible(`.plain tbody tr`))
	b.screenshots("log")
	b.check(address)
}

// css selects the first element that matches.
type css = chromedp.CSS

// listedSpan is what the test needs of a span as format=json has it.
type listedSpan struct {
	ProfileID, Name, Query  string
	Start                   time.Time
	DurationNs              time.Duration
	CPUSamples, WallSamples int
	Complete                bool
}

// startQuickstart runs the quickstart and returns the address of its page.
func startQuickstart(t *testing.T) string {
	t.Helper()
	address, _ := startExample(t, "quickstart")
	return address
}

// startExample runs an example. It returns the address of its page and what it printed
// before.
func startExample(t *testing.T, name string, args ...string) (page, printed string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./"+name)
	build.Dir = "../../../examples"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), program, append([]string{"-listen", "127.0.0.1:0"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	opened, ended := make(chan string, 1), make(chan struct{})
	var before strings.Builder
	go func() {
		defer close(ended)
		for lines, found := bufio.NewScanner(out), false; lines.Scan(); {
			page, ok := strings.CutPrefix(lines.Text(), "Open ")
			switch {
			case found:
			case ok:
				found = true
				opened <- page
			default:
				before.WriteString(lines.Text() + "\n")
			}
		}
	}()
	t.Cleanup(func() {
		<-ended // The context of the test has ended, and the program with it.
		_ = cmd.Wait()
	})
	select {
	case page := <-opened:
		return page, before.String()
	case <-ended:
		t.Fatalf("%s ended without saying where its page is", name)
		return "", ""
	}
}

// waitForSpan waits for a wanted span of a name, with its samples.
func waitForSpan(t *testing.T, address, name string, wanted func(listedSpan) bool) listedSpan {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		list := answerOf[struct{ Spans []listedSpan }](t, address+"?format=json&order=slowest&limit=20&name="+url.QueryEscape(name))
		for _, span := range list.Spans {
			if span.Complete && wanted(span) {
				return span
			}
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("no span named %s has the samples that are wanted", name)
		}
	}
}

// browser is a Chromium that notes what it should not do.
type browser struct {
	t   *testing.T
	ctx context.Context

	listening sync.WaitGroup
	mu        sync.Mutex
	requests  []string
	messages  []string
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		if os.Getenv("SPANPROF_BROWSER") == "required" {
			t.Fatal("no chromium in PATH")
		}
		t.Skip("no chromium in PATH: install the package chromium to run this test")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program),
		chromedp.NoSandbox, // Tests may run as root.
		chromedp.WSURLReadTimeout(stepTime),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true))
	b := &browser{t: t}
	t.Cleanup(b.listening.Wait)
	// Its directory is chromedp's own: processes of Chromium outlive it, and write there
	// while a directory of the test's is removed.
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b.ctx = ctx
	// The browser lives as long as the context of the first thing that it does.
	if err := chromedp.Do(ctx, countRequests, countPresses, size(1440, 900)); err != nil {
		t.Fatal(err)
	}
	requests, messages := chromedp.Events(ctx, network.RequestWillBeSent), chromedp.Console(ctx)
	b.listening.Go(func() {
		for e, err := range requests {
			if err != nil {
				return // The browser has ended.
			}
			b.mu.Lock()
			b.requests = append(b.requests, e.Request.URL)
			b.mu.Unlock()
		}
	})
	b.listening.Go(func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			b.mu.Lock()
			b.messages = append(b.messages, m.String())
			b.mu.Unlock()
		}
	})
	return b
}

// stepTime bounds a step of a walk: a missing element is named soon, and not when all tests have
// to end. No step of a page that works takes a tenth of it.
const stepTime = 45 * time.Second

// run does one step of the walk.
func (b *browser) run(step string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepTime)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.t.Fatalf("%s: %v; the console has %q", step, err, b.messages)
	}
}

// get returns what an action finds out.
func get[T any](b *browser, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepTime)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return value
}

// text waits for an element that can be seen, and returns its text. It polls once, because the page
// may put another element into its place at any time.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return get(b, chromedp.Poll[struct{ Text string }](fmt.Sprintf(`((e) => e?.checkVisibility() && {Text: e.innerText})(document.querySelector(%q))`, selector), chromedp.WithPollingTimeout(0))).Text
}

// box returns where an element is in the window once the page has settled, and how wide it is.
func (b *browser) box(selector string) (x, y, width float64) {
	b.t.Helper()
	b.run("the place of "+selector, visible(selector), settled)
	box := get(b, chromedp.Evaluate[[]float64](fmt.Sprintf(`(({x, y, width}) => [x, y, width])(document.querySelector(%q).getBoundingClientRect())`, selector)))
	return box[0], box[1], box[2]
}

// painted waits until what has changed is on the screen: the graphs paint one frame after
// the change.
func (b *browser) painted() {
	b.t.Helper()
	get(b, chromedp.Evaluate[bool](`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))))`, chromedp.EvalAwaitPromise))
}

// until waits for an expression to be true, as long as a step may take.
func until(expression string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(0))(ctx, t)
		return chromedp.Void{}, err
	}
}

func size(width, height int64) chromedp.Action[chromedp.Void] {
	return chromedp.EmulateViewport(width, height)
}

// check reports what the browser should not have done.
func (b *browser) check(address string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, message := range b.messages {
		// A query that cannot be read is answered with 400, which the browser
		// notes as an error.
		if !strings.Contains(message, "400 (Bad Request)") {
			b.t.Errorf("the console has %s", message)
		}
	}
	page, err := url.Parse(address)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, request := range b.requests {
		if u, err := url.Parse(request); err != nil || u.Scheme != "data" && u.Host != page.Host {
			b.t.Errorf("the page asked for %s", request)
		}
	}
	if len(b.requests) == 0 {
		b.t.Error("no request was seen")
	}
}

// shows checks what an expression finds on the page.
func shows[T comparable](b *browser, what, expression string, want T) {
	b.t.Helper()
	if got := get(b, chromedp.Evaluate[T](expression)); got != want {
		b.t.Errorf("%s: the page shows %v, want %v", what, got, want)
	}
}
