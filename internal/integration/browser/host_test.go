// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
)

// TestHostTab opens a host profile: frames of the kernel, of C and of Go have colours of their
// own, and the legend names them.
func TestHostTab(t *testing.T) {
	s := newStore(t)
	p := newCPU()
	p.add([]int64{30, 3e8}, nil, "crunch", "main.search")
	p.add([]int64{60, 6e8}, nil, "main.search")
	p.add([]int64{90, 9e8}, nil, "vfs_read", "main.search")
	for name, executable := range map[string]string{"crunch": "libwork.so", "vfs_read": exporter.KernelMapping} {
		m := &profile.Mapping{ID: uint64(len(p.Mapping)) + 1, File: executable, HasFunctions: true}
		p.Mapping = append(p.Mapping, m)
		p.known[name].Mapping, p.known[name].Line[0].Function.Filename = m, ""
	}
	export(t, s, exporter.Window{Kind: exporter.KindHost, Start: time.Now(), Duration: shopWindow, Resource: ofShop}, p)
	address := serve(t, s)

	b := newBrowser(t)
	b.run("the host's profile", navigate(address+"?query=.host"), visible(`.types .chip`), visible(`.graph canvas`), settled)
	// The colour of each type in the legend, and whether the graph has it.
	colours := get(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll('.types .chip i')].map((e) => getComputedStyle(e).backgroundColor)`))
	slices.Sort(colours)
	if len(slices.Compact(colours)) != 3 {
		t.Errorf("colours %q, want three", colours)
	}
	painted := get(b, chromedp.Evaluate[[]int](`(() => {
		const canvas = document.querySelector('.graph canvas');
		const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
		const counts = new Map();
		for (let i = 0; i < pixels.length; i += 4) {
			const colour = 'rgb(' + pixels[i] + ', ' + pixels[i + 1] + ', ' + pixels[i + 2] + ')';
			counts.set(colour, (counts.get(colour) ?? 0) + 1);
		}
		return [...document.querySelectorAll('.types .chip i')].map((e) => counts.get(getComputedStyle(e).backgroundColor) ?? 0);
	})()`))
	if slices.Min(painted) < 1000 {
		t.Errorf("the graph has %v pixels of the colours in the legend, want 1000 of each", painted)
	}
	b.screenshots("host")
	b.check(address)
}
