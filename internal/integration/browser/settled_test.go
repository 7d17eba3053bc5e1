// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// counted counts the answers that a page waits for, and those that it read. It also lists the parts
// of its header that move. An answer counts until its text is read: the page has drawn it before
// another script sees the count.
const counted = `(() => {
	window.headerShifts = '';
	new PerformanceObserver((list) => {
		for (const entry of list.getEntries()) for (const s of entry.sources) if (s.node?.parentElement?.closest('#top')) headerShifts += [s.node.className, JSON.stringify(s.previousRect), JSON.stringify(s.currentRect)].join(' ') + ' ';
	}).observe({ type: 'layout-shift', buffered: true });
	window.onTheWay = 0;
	window.polls = 0;
	const real = fetch;
	window.fetch = async (address, how) => {
		// The page need not read the answer of a POST.
		if (how?.method) return real(address, how);
		onTheWay++;
		try {
			const answer = await real(address, how);
			for (const form of ['text', 'json']) {
				const read = answer[form].bind(answer);
				answer[form] = () => read().finally(() => { onTheWay--; polls++; });
			}
			return answer;
		} catch (err) {
			onTheWay--;
			throw err;
		}
	};
})()`

// onPages adds a script to all later pages.
func onPages(script string) action {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return chromedp.Void{}, err
	}
}

// settled waits until the page has read and painted all answers. Some, as the time line, arrive late
// and move the elements below.
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

// click clicks on an element at its place once the page has settled.
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
