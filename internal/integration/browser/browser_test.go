// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// screenshots is where the test puts what it saw. Git ignores it.
const screenshots = "../../../screenshots"

// TestBrowser walks through the viewer of the quickstart as its users do. It
// needs a Chromium, and skips without one unless SPANPROF_BROWSER is
// "required".
func TestBrowser(t *testing.T) {
	b := newBrowser(t)
	address := startQuickstart(t)
	span := slowestSearch(t, address)

	var title, text string
	b.run("the slowest searches",
		chromedp.Navigate(address+"?order=slowest&filter=search"),
		chromedp.WaitVisible(css(fmt.Sprintf(`a.name[data-id=%q]`, span.ProfileID))),
		chromedp.WaitVisible(css(`.strip canvas`)))
	text = b.text(`.aside`)
	if !strings.Contains(text, "GET /search") {
		t.Errorf("the sums by name are %q", text)
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
		chromedp.WaitVisible(css(`#alert`)),
		until(`polls > 1`)) // The next answer is there.
	if text = b.text(`#alert`); !strings.HasSuffix(text, "stuck") {
		t.Errorf("the failed flush is told as %q", text)
	}
	b.run("it was seen",
		click(`#service`),
		chromedp.WaitNotVisible(css(`#alert`)))

	for _, focused := range []string{`.flush`, `.names a.name`, `.list .tabs a`, `[data-id=running]`, `.spans tbody tr:nth-child(3) a.name`} {
		get(b, chromedp.Evaluate[bool](fmt.Sprintf(`(() => {
			window.focused = document.querySelector(%q);
			focused.focus();
			polls = 0;
			return true;
		})()`, focused)))
		// When the second answer is there, the page has shown the first.
		b.run("the focus stays on "+focused, until(`polls > 1`))
		if on := get(b, chromedp.Evaluate[string](`document.activeElement === focused ? '' : document.activeElement.outerHTML.slice(0, 100)`)); on != "" {
			t.Errorf("the focus went from %s to %s", focused, on)
		}
	}
	if widest := get(b, chromedp.Evaluate[float64](`Math.max(...[...document.querySelectorAll('.spans tr + tr .bar i')].map((e) => e.offsetWidth / e.parentElement.offsetWidth))`)); widest < 0.9 {
		t.Errorf("beside a span that still runs, the longest has %.0f %% of a bar", 100*widest)
	}

	b.run("a span",
		click(`.check:last-of-type input`), // Hold still.
		click(fmt.Sprintf(`a.name[data-id=%q]`, span.ProfileID)),
		chromedp.WaitVisible(css(`.graph canvas`)))
	title, text = b.text(`h1`), b.text(`.tiles`)
	if title != "GET /search" || !strings.Contains(text, "Samples") {
		t.Errorf("the span is %q: %q", title, text)
	}
	b.screenshots("span")

	b.run("zoom by keyboard",
		chromedp.Focus(css(`.graph canvas`)),
		chromedp.KeyEvent(kb.ArrowDown+kb.ArrowDown+kb.Enter),
		chromedp.WaitVisible(css(`.detail`)),
		chromedp.WaitEnabled(css(`.tools button:last-child`)))
	text = b.text(`.detail`)
	if !strings.Contains(text, "of the total") {
		t.Errorf("the zoomed frame is %q", text)
	}
	b.run("back by mouse",
		click(`.tools button:last-child`),
		chromedp.WaitNotVisible(css(`.detail`)))
	x, y, width := b.box(`.graph canvas`)
	b.run("zoom by mouse",
		// The second row: the root of the stacks.
		chromedp.MouseEvent(chromedp.MouseMoved, x+width/2, y+30),
		chromedp.WaitVisible(css(`.tip`)),
		chromedp.MouseClickXY(x+width/2, y+30),
		chromedp.WaitVisible(css(`.detail`)),
		click(`.tools button:last-child`))
	b.run("search",
		chromedp.SendKeys(css(`.graph [data-search]`), "regexp."),
		until(`document.querySelector('.found').textContent.includes('%')`))
	if text = b.text(`.found`); !strings.Contains(text, "of the total") {
		t.Errorf("the search found %q", text)
	}
	b.screenshots("search")
	b.run("the functions",
		click(`[data-tab=functions]`),
		chromedp.WaitVisible(css(`.functions tbody tr`)))
	text = b.text(`.functions tbody`)
	if !strings.Contains(text, "regexp.") {
		t.Errorf("the functions are %q", text)
	}
	b.screenshots("functions")
	b.run("callers and callees",
		chromedp.SendKeys(css(`.functions [data-search]`), "regexp.(*Regexp)"),
		until(`document.querySelector('.functions .found').textContent.includes(' of ')`),
		click(`.functions tbody tr:first-child button`),
		chromedp.WaitVisible(css(`.callers canvas`)))
	text = b.text(`.about-function`)
	if !strings.Contains(text, "regexp.(*Regexp)") {
		t.Errorf("the function is %q", text)
	}
	b.screenshots("callers")
	b.run("executables",
		click(`[data-tab=executables]`),
		chromedp.WaitVisible(css(`.executables tbody tr`)))
	text = b.text(`.executables tbody`)
	if !strings.Contains(text, "quickstart") {
		t.Errorf("the executables are %q", text)
	}

	b.run("against the baseline",
		click(`.actions .primary`),
		chromedp.WaitVisible(css(`.diff tbody tr`)),
		chromedp.WaitVisible(css(`.graph canvas`)))
	title, text = b.text(`h1`), b.text(`.diff .halves > div:first-child`)
	// On a busy machine the runtime's own functions may differ more.
	if title != "Against its baseline: GET /search" || !strings.Contains(text, "regexp") {
		t.Errorf("%q takes more in %q, want a function of regexp among them", title, text)
	}
	if text = b.text(`.actions`); !strings.Contains(text, "Copy go tool pprof") || !strings.Contains(text, "Copy link") {
		t.Errorf("what can be done with a comparison is %q", text)
	}
	// A span has its own time; its baseline is of a range.
	for side, ranged := range map[int]bool{1: true, 2: false} {
		if text = b.text(fmt.Sprintf(`.side:nth-child(%d)`, side)); strings.Contains(text, " – ") != ranged {
			t.Errorf("side %d is %q; a range of times: %v", side, text, ranged)
		}
	}
	b.screenshots("baseline")

	left, right := `codesearch.cpu{span_name="GET /search"}`, span.Query
	seconds := func(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }
	begin, end := seconds(span.Start), seconds(span.Start.Add(span.DurationNs))
	seed := url.Values{
		"query": {left}, "from": {begin}, "until": {end},
		"leftQuery": {left}, "leftFrom": {seconds(span.Start.Add(-time.Hour))}, "leftUntil": {end},
		"rightQuery": {right}, "rightFrom": {begin}, "rightUntil": {end},
	}
	for page, graphs := range map[string]int{"comparison": 2, "comparison-diff": 1} {
		b.run(page+" as spans name it",
			chromedp.Navigate(address+page+"?"+seed.Encode()),
			chromedp.WaitVisible(css(`.graph canvas`)))
		if n := get(b, chromedp.Evaluate[int](`document.querySelectorAll('.graph canvas').length`)); n != graphs {
			t.Errorf("%s has %d graphs, want %d", page, n, graphs)
		}
		b.screenshots(page)
	}
	b.run("the profile as spans name it",
		chromedp.Navigate(address+"?"+url.Values{"query": {right}, "from": {begin}, "until": {end}}.Encode()),
		chromedp.WaitVisible(css(`.graph canvas`)))

	b.run("a range of the time line",
		chromedp.Navigate(address),
		chromedp.WaitVisible(css(`.strip canvas`)),
		chromedp.Focus(css(`.strip canvas`)),
		chromedp.KeyEvent(kb.ArrowLeft),
		chromedp.WaitVisible(css(`.chosen .primary`)),
		click(`.chosen .primary`),
		chromedp.WaitVisible(css(`.graph canvas`)),
		chromedp.WaitVisible(css(`.strip canvas`))) // It comes by a request of its own.
	title = b.text(`h1`)
	if title != "Whole process: CPU time" {
		t.Errorf("the range is %q", title)
	}
	b.screenshots("process")
	x, y, width = b.box(`.strip canvas`)
	b.run("two ranges of the time line",
		chromedp.DragAndDropXY(x+width*0.1, y+20, x+width*0.4, y+20),
		chromedp.WaitVisible(css(`.chosen .another`)),
		click(`.chosen .another`),
		chromedp.WaitNotPresent(css(`.chosen .another`)),
		chromedp.DragAndDropXY(x+width*0.95, y+20, x+width*0.7, y+20),
		chromedp.WaitVisible(css(`.chosen .primary`)),
		click(`.chosen .primary`),
		chromedp.WaitVisible(css(`.diff`)))
	if title = b.text(`h1`); title != "Comparison: Whole process: CPU time" {
		t.Errorf("the ranges are %q", title)
	}

	waiting := waitingSpan(t, address)
	b.run("a span that only waited",
		chromedp.Navigate(address+"?order=slowest&limit=1000&name="+url.QueryEscape(waiting.Name)),
		chromedp.WaitVisible(css(fmt.Sprintf(`a.name[data-id=%q]`, waiting.ProfileID))),
		click(`.check:last-of-type input`), // Hold still.
		click(fmt.Sprintf(`a.name[data-id=%q]`, waiting.ProfileID)),
		chromedp.WaitVisible(css(`.graph canvas`)))
	if text = b.text(`.kinds [aria-current=page]`); !strings.HasPrefix(text, "Wall") {
		t.Errorf("it opens on %q", text)
	}
	if text = b.text(`.tiles`); !strings.Contains(text, "Duration") || !strings.Contains(text, "Wall time in samples") {
		t.Errorf("the tiles are %q", text)
	}
	b.screenshots("only-waited")
	b.run("its CPU",
		click(`.kinds a:first-child`),
		chromedp.WaitVisible(css(`.empty`)))
	if text = b.text(`.empty .actions`); !strings.HasPrefix(text, "Wall time: ") {
		t.Errorf("from there it goes on to %q", text)
	}
	b.screenshots("only-waited-cpu")
	b.run("and back",
		click(`.empty .primary`),
		chromedp.WaitVisible(css(`.graph canvas`)))

	b.run("where the slow requests wait",
		chromedp.Navigate(address+"?query="+url.QueryEscape(`.wall{span_name="GET /slow"}`)),
		chromedp.WaitVisible(css(`.graph canvas`)))
	if text = b.text(`.panel .chips`); !strings.Contains(text, "time") {
		t.Errorf("the packages are %q", text)
	}
	b.screenshots("wall")

	b.run("a query that cannot be read",
		chromedp.Navigate(address+"?query="+url.QueryEscape(`codesearch.cpu{span_name=~"("}`)),
		chromedp.WaitVisible(css(`main [role=alert]`)))
	text = b.text(`main [role=alert]`)
	if !strings.Contains(text, "Column 27") {
		t.Errorf("the error is %q", text)
	}
	b.screenshots("error")
	b.run("an id that is not there",
		chromedp.Navigate(address+"?query="+url.QueryEscape(`.cpu{profile_id="0000000000000001"}`)),
		chromedp.WaitVisible(css(`.empty`)))
	b.screenshots("empty")
	asked := `performance.getEntriesByType('resource').filter((e) => e.name.includes('format=json')).length`
	b.run("another query", chromedp.SendKeys(css(`.query input`), "another"))
	n := get(b, chromedp.Evaluate[int](asked))
	b.run("while the page looks again", until(fmt.Sprintf("%s > %d", asked, n+2)))
	if query := get(b, chromedp.Evaluate[string](`document.activeElement.value`)); !strings.Contains(query, "another") {
		t.Errorf("what was being written is %q", query)
	}
	b.run("the log",
		chromedp.Navigate(address+"log"),
		chromedp.WaitVisible(css(`.plain tbody tr`)))
	shows(b, "its headings", `document.querySelectorAll('h1').length`, 1)
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

// slowestSearch waits for a search that has enough samples to be looked at.
func slowestSearch(t *testing.T, address string) listedSpan {
	t.Helper()
	return waitForSpan(t, address, "GET /search", func(s listedSpan) bool { return s.CPUSamples >= 25 })
}

// waitingSpan waits for a request that used no CPU that was seen.
func waitingSpan(t *testing.T, address string) listedSpan {
	t.Helper()
	return waitForSpan(t, address, "GET /slow", func(s listedSpan) bool { return s.CPUSamples == 0 && s.WallSamples > 2 })
}

// waitForSpan waits for a wanted span of a name, with its samples.
func waitForSpan(t *testing.T, address, name string, wanted func(listedSpan) bool) listedSpan {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"?format=json&order=slowest&limit=20&name="+url.QueryEscape(name), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var list struct{ Spans []listedSpan }
		err = json.NewDecoder(answer.Body).Decode(&list)
		_ = answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
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

func scheme(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
		})
		return err
	})
}

// screenshots writes what is shown, light and dark, at widths from a phone to a
// big screen. No width may need to scroll sideways or cut names to nothing.
func (b *browser) screenshots(name string) {
	b.t.Helper()
	if err := os.MkdirAll(screenshots, 0o755); err != nil {
		b.t.Fatal(err)
	}
	for _, look := range []struct {
		name   string
		width  int64
		scheme string
	}{{"light", 1440, "light"}, {"dark", 1440, "dark"}, {"tablet", 1130, "light"}, {"laptop", 1280, "light"}, {"wide", 1920, "dark"}, {"narrow", 390, "light"}} {
		b.run("screenshot of "+name+", "+look.name, size(look.width, 900), scheme(look.scheme))
		b.painted()
		overflow := get(b, chromedp.Evaluate[int](`document.documentElement.scrollWidth - document.documentElement.clientWidth`))
		if overflow > 0 {
			b.t.Errorf("%s, %s: the page is %d pixels wider than the window", name, look.name, overflow)
		}
		// Where scrollbars can be seen, a row of tabs that is too high has one.
		if high := get(b, chromedp.Evaluate[int]("[...document.querySelectorAll('.tabs')].filter((e) => getComputedStyle(e).overflowY !== 'visible' && e.scrollHeight > e.clientHeight).length")); high > 0 {
			b.t.Errorf("%s, %s: %d rows of tabs can be scrolled up and down", name, look.name, high)
		}
		// A name that is cut must still be one to tell from others.
		if cut := get(b, chromedp.Evaluate[int]("[...document.querySelectorAll('.spans a.name')].filter((a) => a.scrollWidth > a.clientWidth && a.clientWidth < 60).length")); cut > 0 {
			b.t.Errorf("%s, %s: %d names are less than 60 pixels wide", name, look.name, cut)
		}
		if cut := get(b, chromedp.Evaluate[int]("[...document.querySelectorAll('.spans td.when')].filter((e) => e.scrollWidth > e.clientWidth).length")); cut > 0 {
			b.t.Errorf("%s, %s: %d times are wider than their column", name, look.name, cut)
		}
		picture := get(b, chromedp.CaptureScreenshot())
		if err := os.WriteFile(filepath.Join(screenshots, name+"-"+look.name+".png"), picture, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
	b.run("back to light", size(1440, 900), scheme("light"))
}

// onPaper lists the elements that a selector finds and that can be seen.
const onPaper = `[...document.querySelectorAll(%q)].filter((e) => e.checkVisibility() && e.offsetHeight > 1).map((e) => e.outerHTML.slice(0, 100))`

// print writes what the page is on paper, in the dark scheme of a screen. There, what seen selects
// has to be visible, and nothing to click on. A graph has to be painted light, and as high as it is.
// read returns rows of the text form. The PDF must have them and all texts of the page.
func (b *browser) print(name string, read func() [][]string, seen ...string) {
	b.t.Helper()
	if err := os.MkdirAll(screenshots, 0o755); err != nil {
		b.t.Fatal(err)
	}
	b.run("print "+name, scheme("dark"), size(1440, 300))
	graphs := get(b, chromedp.Evaluate[[][]float64](`(() => {
		dispatchEvent(new Event('beforeprint'));
		const sizes = [...document.querySelectorAll('.flame canvas')].map((canvas) => {
			const [red, green, blue] = canvas.getContext('2d').getImageData(canvas.width - 4, 4, 1, 1).data;
			// As high as its frames at the width that it is painted for, with letters of 12 pixels.
			return [parseFloat(canvas.style.height), canvas.parentElement.offsetHeight, Math.min(red, green, blue), canvas.width / canvas.height * parseFloat(canvas.style.height)];
		});
		// The base line of a time line, under which its axis is.
		for (const canvas of document.querySelectorAll('.strip canvas')) {
			if (!canvas.checkVisibility()) continue; // Without a window.
			const pixels = canvas.getContext('2d').getImageData(0, 0, 1, canvas.height).data;
			const y = canvas.height - 17;
			sizes.push([0, 0, Math.min(...pixels.slice(4 * y, 4 * y + 3)), 0]);
		}
		dispatchEvent(new Event('afterprint'));
		return sizes;
	})()`))
	for _, high := range graphs {
		if high[0] != high[1] || high[2] < 128 {
			b.t.Errorf("%s: %v of %v pixels are on paper, with colours from %v on", name, high[0], high[1], high[2])
		}
		if high[3] > 780 {
			b.t.Errorf("%s: a graph painted for %.0f pixels has letters on paper that are too small to read", name, high[3])
		}
	}
	b.run("print "+name+" on a screen", size(760, 1000), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
		return err
	}), until(`dispatchEvent(new Event('beforeprint'))`))
	rows := read()
	for _, selector := range seen {
		b.run(name+" on paper has "+selector, until(fmt.Sprintf("("+onPaper+").length > 0", selector)))
	}
	const controls = "nav.pages, #status, .skip, .crumbs, .actions, .formats, .views, .versions, .fold, .query, .handling, button:not(.plain, .chip, .sort, .cutoff), .choice label:not(:has(:checked)), :placeholder-shown"
	if found := get(b, chromedp.Evaluate[[]string](fmt.Sprintf(onPaper, controls))); len(found) > 0 {
		b.t.Errorf("%s: on paper are %q", name, found)
	}
	if wide := get(b, chromedp.Evaluate[int](`document.querySelector('main').scrollWidth - innerWidth`)); wide > 0 {
		b.t.Errorf("%s: what is printed is %d pixels wider than the sheet", name, wide)
	}
	if err := os.WriteFile(filepath.Join(screenshots, name+"-paper.png"), get(b, chromedp.CaptureScreenshot()), 0o644); err != nil {
		b.t.Fatal(err)
	}
	texts := get(b, chromedp.Evaluate[[]string](shownTexts))
	b.run("off the screen", until(`dispatchEvent(new Event('afterprint'))`), size(1440, 900), scheme("dark"))
	paper := get(b, func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		result, err := cdp.Call(ctx, t, page.PrintToPDF, page.PrintToPDFParams{PrintBackground: new(true), PaperWidth: 8.27, PaperHeight: 11.69})
		if err != nil {
			return nil, err
		}
		return result.Data, nil
	})
	file := filepath.Join(screenshots, name+".pdf")
	if err := os.WriteFile(file, paper, 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.t.Run(name+".pdf", func(t *testing.T) { checkPaper(t, file, texts, rows) })
	b.run("back to the screen", size(1440, 900), scheme("light"))
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

// samplesTile is the number of samples that the heading of a profile has.
const samplesTile = `[...document.querySelectorAll('.tiles div')].find((e) => e.innerText.startsWith('Samples')).querySelector('dd').firstChild.textContent`
