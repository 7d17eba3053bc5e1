// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// screenshots is the directory of the pictures. Git ignores it.
const screenshots = "../../../screenshots"

// look is a window and its colours.
type look struct {
	name   string
	width  int64
	scheme string
}

// tours are the looks of a desktop and a phone, by day and by night.
var tours = []look{{"light", 1440, "light"}, {"dark", 1440, "dark"}, {"narrow", 390, "light"}, {"narrow-dark", 390, "dark"}}

// wear gives the page a look.
func (b *browser) wear(l look) {
	b.t.Helper()
	b.run("the look "+l.name, chromedp.EmulateViewport(l.width, 900), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}},
		})
		return err
	}))
}

// screenshots writes pictures of the page in all looks, and checks each.
func (b *browser) screenshots(name string) {
	b.t.Helper()
	for _, l := range append(tours, look{"tablet", 1130, "light"}, look{"wide", 1920, "dark"}) {
		b.wear(l)
		b.picture(name + "-" + l.name)
	}
	b.wear(tours[0])
}

// picture writes a picture of the window, and checks its layout.
func (b *browser) picture(name string) {
	b.t.Helper()
	if err := os.MkdirAll(screenshots, 0o755); err != nil {
		b.t.Fatal(err)
	}
	b.painted()
	for _, fault := range get(b, chromedp.Evaluate[[]string](faults)) {
		b.t.Errorf("%s: %s", name, fault)
	}
	if err := os.WriteFile(filepath.Join(screenshots, name+".png"), get(b, chromedp.CaptureScreenshot()), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// faults lists the faults of a layout: a page wider than its window, tabs and times that are cut.
// Names may not be broken inside a word, controls not covered, and texts need contrast.
const faults = `(() => {
	const seen = (selector) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !e.closest('.sr, .skip'));
	const found = [];
	const fault = (what, e) => found.push(what + ': ' + (e.innerText || e.outerHTML).trim().slice(0, 80));
	if (document.documentElement.scrollWidth > document.documentElement.clientWidth) found.push('the page is wider than its window');
	for (const e of seen('.tabs')) if (getComputedStyle(e).overflowY !== 'visible' && e.scrollHeight > e.clientHeight) fault('tabs that scroll', e);
	for (const e of seen('.tabs > *')) if (e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right > innerWidth) fault('a tab that is cut', e);
	for (const e of seen('.spans a.name')) if (e.scrollWidth > e.clientWidth && e.clientWidth < 60) fault('a name without room', e);
	for (const e of seen('.spans td.when')) if (e.scrollWidth > e.clientWidth) fault('a time that is cut', e);
	for (const e of seen('.fn button, .spans .name, .names .name, .bynames .name, h1, .about-function h2')) {
		const texts = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
		while (texts.nextNode()) {
			for (const word of texts.currentNode.data.matchAll(/\w+/g)) {
				const range = document.createRange();
				range.setStart(texts.currentNode, word.index);
				range.setEnd(texts.currentNode, word.index + word[0].length);
				if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1 && word[0].length < 24) fault('a word that is broken, ' + word[0], e);
			}
		}
	}
	for (const e of seen('button, .button, .tabs a, #top a, select, input:not([type=radio])')) {
		const box = e.getBoundingClientRect();
		const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
		const top = document.elementFromPoint(x, y);
		if (top && x >= 0 && x < innerWidth && !e.contains(top) && !e.closest('label')?.contains(top) && !e.closest('.scroll, .names')) fault('a control that is covered', e);
	}
	const rgb = (colour) => (/^rgb/.test(colour) ? colour.match(/[\d.]+/g).map(Number) : null);
	const light = (c) => c.slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	for (const e of seen('body *')) {
		if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || e.closest(':disabled, [aria-disabled=true], [aria-busy=true], option')) continue;
		let under = e;
		while (under && (rgb(getComputedStyle(under).backgroundColor) ?? [0, 0, 0, 1])[3] === 0) under = under.parentElement;
		const [ink, paper] = [rgb(getComputedStyle(e).color), rgb(getComputedStyle(under ?? document.body).backgroundColor)];
		if (!ink || !paper) continue;
		const [a, b] = [light(ink), light(paper)].sort((a, b) => b - a);
		if ((a + 0.05) / (b + 0.05) < 4.5) fault('a contrast of ' + ((a + 0.05) / (b + 0.05)).toFixed(1), e);
	}
	return [...new Set(found)];
})()`
