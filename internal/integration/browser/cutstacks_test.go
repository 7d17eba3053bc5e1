// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bytes"
	"net/http/httptest"
	"net/url"
	"regexp"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// deep works until a time, so many calls deep.
//
//go:noinline
func deep(calls int, until time.Time) (n int) {
	if calls > 0 {
		return deep(calls-1, until) + 1
	}
	for time.Now().Before(until) {
		for i := range 1000 {
			n ^= i
		}
	}
	return n
}

// deepProfile is a CPU profile of work 500 calls deep, as the runtime notes it.
func deepProfile(t *testing.T) *profile.Profile {
	t.Helper()
	for took := 200 * time.Millisecond; took < 20*time.Second; took *= 2 {
		var b bytes.Buffer
		if err := pprof.StartCPUProfile(&b); err != nil {
			t.Fatal(err)
		}
		deep(500, time.Now().Add(took))
		pprof.StopCPUProfile()
		p, err := profile.Parse(&b)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, s := range p.Sample {
			if f := s.Location[len(s.Location)-1].Line[0].Function.Name; strings.HasSuffix(f, ".deep") {
				n++
			}
		}
		if n > 0 {
			return p
		}
	}
	t.Fatal("no sample is 500 calls deep")
	return nil
}

// TestCutStacks shows that stacks of 500 calls begin in their middle. The page and the text have the
// share of such stacks, and other profiles have no note.
func TestCutStacks(t *testing.T) {
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now().Add(-10 * time.Second)
	if err := s.Export(t.Context(), exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: start, Duration: 10 * time.Second}, deepProfile(t))); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(viewer.Handler(s))
	t.Cleanup(server.Close)
	b := newBrowser(t)
	b.run("deep stacks", navigate(server.URL+"/?query=.cpu"), visible(`.graph canvas`))
	const mark = `^([0-9.]+) ?% of this is in stacks of more than 64 frames, which is what the Go runtime notes: they begin in their middle, and what called them is not shown\.$`
	note := b.text(`main .note`)
	if part := regexp.MustCompile(mark).FindStringSubmatch(note); part == nil || !strings.Contains(textOf(t, server.URL+"/?query=.cpu"), part[1]+"% of this is in stacks of more than 64 frames") {
		t.Errorf("the page has the note %q", note)
	}
	b.print("paper-cut-stacks", func() [][]string { return nil }, `main .note`)
	b.check(server.URL + "/")

	address := newShop(t, false, 3).serve(t)
	b.run("other stacks", navigate(address+"?query=.cpu"), visible(`.graph canvas`))
	if text := b.text(`main`); strings.Contains(text, "in their middle") {
		t.Errorf("stacks that were not cut are marked:\n%s", text)
	}
}

// TestLostZoom opens a link with a zoom that the graph does not have, with and without a search. The
// page notes it, and shows all of the graph.
func TestLostZoom(t *testing.T) {
	address := newShop(t, true, 10).serve(t)
	b := newBrowser(t)
	of := func(name string) string {
		return address + "?query=" + url.QueryEscape(`.cpu{span_name="`+name+`"}`)
	}
	b.run("what queries take", navigate(of("query")), visible(`.graph canvas`), settled, chromedp.Focus(css(`.graph canvas`)),
		chromedp.KeyEvent(kb.ArrowDown+kb.ArrowDown+kb.ArrowDown+kb.Enter), until(`document.querySelector('.detail .about').innerText.startsWith('sql.query')`))
	zoom := b.at().Query().Get("zoom")
	if zoom == "" {
		t.Fatal("the address has no zoom")
	}
	const refusal = "this graph does not have the zoomed frame of the address"
	for search, want := range map[string]string{"": "", "serve": "100.0 % of the total (" + onPage(pprofTotal(t, address+"profile?query="+url.QueryEscape(`.cpu{span_name="GET /cart"}`))) + "); "} {
		b.run("the same zoom elsewhere", navigate(of("GET /cart")+"&zoom="+zoom+"&search="+search), visible(`.graph canvas`), settled)
		if got := b.text(`.found`); !strings.HasPrefix(got, want+refusal) {
			t.Errorf("search %q: the page says %q, want %q", search, got, want+refusal)
		}
		shows(b, "what is zoomed to", `[document.querySelector('.detail').checkVisibility(), document.querySelector('.tools button:last-child').disabled].join()`, "false,true")
		// It is forgotten with the next thing that is done.
		b.run("a zoom to what is there", chromedp.Focus(css(`.graph canvas`)), chromedp.KeyEvent(kb.ArrowDown+kb.Enter), until(`document.querySelector('.detail .about').innerText.startsWith('main.serve')`), settled)
		if got := b.text(`.graph`); strings.Contains(got, refusal) {
			t.Errorf("search %q: after a zoom to what is there the page says %q", search, got)
		}
	}
	b.check(address)
}
