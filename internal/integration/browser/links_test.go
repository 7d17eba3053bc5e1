// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestLinkOfALogRecord clicks, as it were, on the link of a log record.
func TestLinkOfALogRecord(t *testing.T) {
	b := newBrowser(t)
	page, printed := startExample(t, "logs")
	records := 0
	for line := range strings.Lines(printed) {
		var record struct {
			ProfileID  string `json:"profile_id"`
			ProfileURL string `json:"profile_url"`
		}
		if json.Unmarshal([]byte(line), &record) != nil || record.ProfileURL == "" {
			continue
		}
		records++
		b.run("the link of a log record",
			chromedp.Navigate(record.ProfileURL),
			chromedp.WaitVisible(css(`.graph canvas`)))
		if title := b.text(`h1`); title != "place order" {
			t.Errorf("%s opens %q", record.ProfileURL, title)
		}
		if text := b.text(`main`); !strings.Contains(text, record.ProfileID) {
			t.Errorf("%s: the page does not name %s", record.ProfileURL, record.ProfileID)
		}
	}
	if records != 3 {
		t.Errorf("%d records with links", records)
	}
	b.check(page)
}

// TestLinkOfAnExemplar opens the trace that an exemplar names, and from there the flame
// graph of its local root.
func TestLinkOfAnExemplar(t *testing.T) {
	b := newBrowser(t)
	page, _ := startExample(t, "metrics")
	b.run("the page", chromedp.Navigate(page), chromedp.WaitVisible(css(`.spans a.name`)))
	trace := get(b, chromedp.Evaluate[string](`fetch('/metrics', { headers: { Accept: 'application/openmetrics-text' } })
		.then((answer) => answer.text()).then((text) => (text.match(/trace_id="([0-9a-f]{32})"/) ?? ['', ''])[1])`, chromedp.EvalAwaitPromise))
	if trace == "" {
		t.Fatal("/metrics has no exemplar")
	}
	b.run("the trace", chromedp.Navigate(page+"?trace="+trace), chromedp.WaitVisible(css(`.spans a.name`)))
	if listed := get(b, chromedp.Evaluate[int](`document.querySelectorAll('.spans a.name').length`)); listed != 1 {
		t.Errorf("%d spans of the trace are listed", listed)
	}
	b.run("its local root", chromedp.Click(css(`.spans a.name`)), chromedp.WaitVisible(css(`.graph canvas`)))
	if title := b.text(`h1`); title != "checkout" {
		t.Errorf("the exemplar leads to %q", title)
	}
	b.check(page)
}
