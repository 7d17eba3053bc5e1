// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
)

// TestStripOfMoments draws the heap in use over time: bars are as high as the heap, however long
// their windows are. A range has the heap at its end.
func TestStripOfMoments(t *testing.T) {
	s := newStore(t)
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for _, window := range []struct{ seconds, mebibytes int64 }{{10, 10}, {10, 40}, {5, 20}} {
		p, duration := newCPU(), time.Duration(window.seconds)*time.Second
		p.SampleType = []*profile.ValueType{{Type: "inuse_space", Unit: "bytes"}}
		p.add([]int64{window.mebibytes << 20}, nil, "main.main")
		export(t, s, exporter.Window{Kind: exporter.KindHeap, Start: start, Duration: duration}, p)
		start = start.Add(duration)
	}
	address := serve(t, s)

	b := newBrowser(t)
	b.run("the heap in use",
		chromedp.Navigate(address+"?query=.inuse_space"),
		chromedp.WaitVisible(css(`.strip canvas`)),
		settled)
	if title := b.text(`.strip h2`); title != "Heap in use over time" {
		t.Errorf("the time line is %q", title)
	}
	// The painted part of the middle of each bar, as a share of the highest one.
	heights := get(b, chromedp.Evaluate[[]float64](`(() => {
		const canvas = document.querySelector('.strip canvas');
		const { width, height } = canvas;
		const pixels = canvas.getContext('2d').getImageData(0, 0, width, height).data;
		const heights = [5, 15, 22.5].map((at) => {
			let painted = 0;
			for (let y = 0; y < height; y++) painted += pixels[4 * (y * width + Math.floor(at / 25 * width)) + 3] > 0;
			return painted;
		});
		return heights.map((h) => Math.round(10 * h / heights[1]) / 10);
	})()`))
	if diff := cmp.Diff([]float64{0.3, 1, 0.5}, heights); diff != "" {
		t.Error(diff)
	}
	b.run("the last two windows",
		chromedp.Focus(css(`.strip canvas`)),
		chromedp.KeyEvent(kb.ArrowLeft),
		chromedp.KeyEvent(kb.ArrowRight, chromedp.KeyModifiers(8)), // Shift.
		chromedp.WaitVisible(css(`.chosen .primary`)))
	if text := b.text(`.chosen`); !strings.Contains(text, "20.0 MiB of heap in use at the end of 15") {
		t.Errorf("the range is %q", text)
	}
	b.check(address)
}
