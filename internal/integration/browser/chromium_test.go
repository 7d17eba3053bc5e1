// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// css selects the first element that matches.
type css = chromedp.CSS

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
	if err := chromedp.Do(ctx, onPages(counted), onPages(presses), chromedp.EmulateViewport(1440, 900)); err != nil {
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
