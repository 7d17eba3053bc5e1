// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestLinkOfALogRecord opens the link of a log record.
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
// graph of its local root. Both ids of the exemplar lead there; the span id is a child's.
// It also opens the time of a spike, in milliseconds.
func TestLinkOfAnExemplar(t *testing.T) {
	b := newBrowser(t)
	page, _ := startExample(t, "metrics")
	b.run("the page", chromedp.Navigate(page), chromedp.WaitVisible(css(`.spans a.name`)))
	ids := get(b, chromedp.Evaluate[string](`fetch('/metrics', { headers: { Accept: 'application/openmetrics-text' } })
		.then((answer) => answer.text()).then((text) => (text.match(/# \{.*?\}/) ?? [''])[0])
		.then((exemplar) => ['span_id', 'trace_id'].map((label) => exemplar.split(label + '="')[1]?.split('"')[0]).join(' '))`, chromedp.EvalAwaitPromise))
	child, trace, ok := strings.Cut(ids, " ")
	if !ok || len(child) != 16 || len(trace) != 32 {
		t.Fatalf("/metrics has no exemplar: %q", ids)
	}
	b.run("the trace", chromedp.Navigate(page+"?trace="+trace), chromedp.WaitVisible(css(`.spans a.name`)))
	if listed := get(b, chromedp.Evaluate[int](`document.querySelectorAll('.spans a.name').length`)); listed != 1 {
		t.Errorf("%d spans of the trace are listed", listed)
	}
	b.run("its local root", click(`.spans a.name`), chromedp.WaitVisible(css(`.graph canvas`)))
	if title := b.text(`h1`); title != "checkout" {
		t.Errorf("the exemplar leads to %q", title)
	}

	now := time.Now()
	for address, title := range map[string]string{
		fmt.Sprintf(`%s?query=.cpu{span_id="%s",trace_id="%s"}`, page, child, trace):                                                    "checkout",
		fmt.Sprintf(`%s?query=.cpu{span_name="checkout"}&from=%d&until=%d`, page, now.Add(-5*time.Minute).UnixMilli(), now.UnixMilli()): "checkout",
	} {
		b.run(address, chromedp.Navigate(address), chromedp.WaitVisible(css(`.graph canvas`)))
		if got := b.text(`h1`); got != title {
			t.Errorf("%s opens %q, want %q", address, got, title)
		}
	}
	b.check(page)
}

// TestLinksOfJaeger opens the links that Jaeger's UI makes by ui.js from the attributes of a
// span: its profile, the comparison with its baseline, and the difference.
func TestLinksOfJaeger(t *testing.T) {
	script, err := os.ReadFile("../../../examples/jaeger/ui.js")
	if err != nil {
		t.Fatal(err)
	}
	var received bytes.Buffer
	var mu sync.Mutex
	jaeger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if _, err := received.ReadFrom(r.Body); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(jaeger.Close) // after the example has ended
	b := newBrowser(t)
	page, _ := startExample(t, "jaeger", "-jaeger", jaeger.URL)
	attributes := map[string]string{}
	mu.Lock()
	for _, name := range []string{"url", "baseline.url", "diff.url"} {
		attributes["pyroscope.profile."+name] = attributeIn(received.Bytes(), "pyroscope.profile."+name)
	}
	mu.Unlock()
	span, err := json.Marshal(attributes)
	if err != nil {
		t.Fatal(err)
	}
	// As packages/jaeger-ui/src/model/link-patterns.tsx of Jaeger's UI has it.
	links := get(b, chromedp.Evaluate[[]string](fmt.Sprintf(`(() => { %s
		const span = %s;
		return UIConfig().linkPatterns.filter((p) => p.type === 'tags' && p.url.parameters.every((key) => span[key])).map((p) => p.url.template(span));
	})()`, script, span)))
	if len(links) != 3 {
		t.Fatalf("links %q of attributes %s", links, span)
	}
	for i, graphs := range []int{1, 2, 1} {
		b.run(links[i], chromedp.Navigate(links[i]), chromedp.WaitVisible(css(`.graph canvas`)))
		if n := get(b, chromedp.Evaluate[int](`document.querySelectorAll('.graph canvas').length`)); n != graphs {
			t.Errorf("%s has %d graphs, want %d", links[i], n, graphs)
		}
	}
	b.check(page)
}

// attributeIn returns the first value of a text attribute in a message of OTLP, "" if there
// is none. A KeyValue has its key before its value.
func attributeIn(message []byte, key string) string {
	const stringField = 1<<3 | 2
	field := append([]byte{stringField, byte(len(key))}, key...)
	_, rest, _ := bytes.Cut(message, field)
	for range 2 { // the AnyValue, and the text in it
		if len(rest) == 0 {
			return ""
		}
		length, n := binary.Uvarint(rest[1:])
		if n <= 0 || uint64(len(rest)-1-n) < length {
			return ""
		}
		rest = rest[1+n:][:length]
	}
	return string(rest)
}
