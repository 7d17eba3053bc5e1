// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bufio"
	"fmt"
	"maps"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/spanprof/spanprof/internal/queriertest"
)

// TestView walks through the page of `spanprof view` over a Pyroscope server as it was
// recorded: from the list to a span, and to its comparison with its baseline.
func TestView(t *testing.T) {
	b := newBrowser(t)
	r, err := queriertest.Load()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	address := startView(t, "pyroscope+"+server.URL)
	times := url.Values{"from": {r.From.Format(time.RFC3339Nano)}, "until": {r.Until.Format(time.RFC3339Nano)}}
	query := func(more ...string) string {
		params := url.Values{}
		maps.Copy(params, times)
		for i := 0; i < len(more); i += 2 {
			params.Set(more[i], more[i+1])
		}
		return params.Encode()
	}

	b.run("the list of spans",
		chromedp.Navigate(address+"?"+query("order", "cpu")),
		chromedp.WaitVisible(css(`.spans a.name`)))
	if note := b.text(`main .note`); !strings.Contains(note, "lists not all spans") {
		t.Errorf("the note is %q", note)
	}
	if service := b.text(`#service`); service != "2 services" {
		t.Errorf("the heading has %q", service)
	}
	if hidden := get(b, chromedp.Evaluate[bool](`[...document.querySelectorAll('.tools .check, .tools select, .tools label:has([value=slowest])')].every((e) => e.hidden)`)); !hidden {
		t.Error("the page offers conditions that the server cannot meet")
	}
	b.screenshots("view-spans")

	b.run("a span by its id",
		chromedp.Navigate(address+"?"+query("query", fmt.Sprintf(".cpu{profile_id=%q}", r.Span))),
		chromedp.WaitVisible(css(`.flame`)))
	if title := b.text(`h1`); !strings.HasPrefix(title, r.Name) {
		t.Errorf("the span is %q", title)
	}
	if tile := b.text(`.tiles`); !strings.Contains(tile, fmt.Sprintf("%d ms", r.CPU.Milliseconds())) && !strings.Contains(tile, fmt.Sprintf("%.1f ms", float64(r.CPU.Microseconds())/1000)) {
		t.Errorf("the tiles are %q, want %s", tile, r.CPU)
	}
	b.screenshots("view-span")

	b.run("its comparison with its baseline",
		chromedp.Navigate(address+"comparison?"+query("leftQuery", fmt.Sprintf("%s.cpu{span_name=%q}", r.Service, r.Name), "rightQuery", fmt.Sprintf("%s.cpu{profile_id=%q}", r.Service, r.Span))),
		chromedp.WaitVisible(css(`.sides`)))
	if sides := b.text(`.sides`); !strings.Contains(sides, r.Span) {
		t.Errorf("the sides are %q", sides)
	}
	b.screenshots("view-comparison")

	b.run("the log", chromedp.Navigate(address+"log"), chromedp.WaitVisible(css(`main h1`)))
	if text := b.text(`main`); strings.Contains(text, "Counters") || strings.Contains(text, "Memory") && strings.Contains(text, "0 B of 0 B") {
		t.Errorf("the log has %q", text)
	}
}

// startView runs `spanprof view`, and returns the address of its page.
func startView(t *testing.T, source string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "spanprof")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = "../../../cmd/spanprof"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), program, "view", source)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // The context of the test has ended, and the program with it.
	line, err := bufio.NewReader(out).ReadString('\n')
	page, ok := strings.CutPrefix(strings.TrimSpace(line), "Open ")
	if !ok {
		t.Fatalf("the first line is %q: %v", line, err)
	}
	return page
}
