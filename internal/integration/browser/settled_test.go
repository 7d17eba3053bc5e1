// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/spanprof/spanprof/viewer"
)

// counted has each page count the answers that it waits for. An answer is there when its text
// is: what the page makes of it comes before anything else sees the count.
const counted = `(() => {
	window.onTheWay = 0;
	const real = fetch;
	window.fetch = async (address, how) => {
		// Nobody has to read what a POST answers.
		if (how?.method) return real(address, how);
		onTheWay++;
		try {
			const answer = await real(address, how);
			for (const form of ['text', 'json']) {
				const read = answer[form].bind(answer);
				answer[form] = () => read().finally(() => { onTheWay--; });
			}
			return answer;
		} catch (err) {
			onTheWay--;
			throw err;
		}
	};
})()`

// countRequests lets settled know of the requests of all pages that come.
func countRequests(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
	_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: counted})
	return chromedp.Void{}, err
}

// settled waits until the page has all answers that it asked for, and has painted them. Some of
// them, as the time line, come when the rest of a page is there, and move what is below.
func settled(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
	_, err := chromedp.Evaluate[bool](`(async () => {
		const frame = () => new Promise((done) => requestAnimationFrame(done));
		const busy = () => onTheWay > 0 || document.querySelector('[aria-busy=true]') !== null;
		do {
			while (busy()) await frame();
			for (let i = 0; i < 3; i++) await frame();
		} while (busy());
		return true;
	})()`, chromedp.EvalAwaitPromise)(ctx, t)
	return chromedp.Void{}, err
}

type action = chromedp.Action[chromedp.Void]

func navigate(address string) action { return chromedp.Navigate(address) }

func visible(selector string) action { return chromedp.WaitVisible(css(selector)) }

// click clicks on an element where it is once the page has settled: a click goes to a place,
// and meets what is there then.
func click(selector string) action {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		for _, do := range []action{visible(selector), settled, chromedp.Click(css(selector))} {
			if _, err := do(ctx, t); err != nil {
				return chromedp.Void{}, fmt.Errorf("click on %s: %w", selector, err)
			}
		}
		return chromedp.Void{}, nil
	}
}

// TestSettled has the time line come later than the rows: a click waits for it.
func TestSettled(t *testing.T) {
	o := newShop(t, false, 3)
	pages := viewer.Handler(o.store)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/timeline" {
			time.Sleep(500 * time.Millisecond)
		}
		pages.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b := newBrowser(t)
	b.run("the slowest spans", navigate(server.URL+"/"), visible(`.spans tbody tr`), click(`[value=slowest]`))
	if !get(b, chromedp.Evaluate[bool](`document.querySelector('.strip canvas').checkVisibility()`)) {
		t.Error("the click did not wait for the time line")
	}
	b.check(server.URL + "/")
}
