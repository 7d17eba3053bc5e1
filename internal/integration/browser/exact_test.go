// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
)

// exactOf are exact times of a span of 50 ms. It waited 30 ms for the lock of another span.
const exactOf = `{"format": "spanprof-exectrace/1", "start": %q, "durationNs": 50000000, "id": %q, "name": %q,
	"states": [{"state": "mutex", "durationNs": 30000000}, {"state": "running", "durationNs": 20000000}],
	"goroutines": [{"id": 7, "startNs": 0, "endNs": 50000000, "states": [{"state": "mutex", "durationNs": 30000000}, {"state": "running", "durationNs": 20000000}]}],
	"waits": [{"state": "mutex", "durationNs": 30000000, "count": 1, "goroutine": 7, "stack": [{"func": "shop/cart.(*Cache).get", "file": "shop/cart/cache.go", "line": 5}],
		"blockers": [{"goroutine": 8, "spanId": %q, "span": "refresh cache", "durationNs": 30000000, "did": [{"state": "sleep", "durationNs": 30000000, "child": "load from disk"}]}]}]}`

// TestTimeTab goes from a slow span to the span that held its lock.
func TestTimeTab(t *testing.T) {
	s := newStore(t)
	tracer := newTracer(s, ofShop)
	start := time.Now().Add(-30 * time.Second)
	var spans []trace.Span
	for _, name := range []string{"GET /checkout", "refresh cache"} {
		_, span := tracer.Start(t.Context(), name, trace.WithTimestamp(start))
		span.End(trace.WithTimestamp(start.Add(50 * time.Millisecond)))
		spans = append(spans, span)
	}
	slow, holder := spans[0].SpanContext().SpanID().String(), spans[1].SpanContext().SpanID().String()
	if err := s.AddExactTimes(slow, fmt.Appendf(nil, exactOf, start.Format(time.RFC3339Nano), slow, "GET /checkout", holder)); err != nil {
		t.Fatal(err)
	}
	p := newCPU()
	p.add([]int64{1, 1e7}, ofSpan(spans[0], "GET /checkout"), "shop.(*Cart).render")
	export(t, s, exporter.Window{Kind: exporter.KindCPU, Start: start.Add(-time.Second), Duration: shopWindow, Resource: ofShop}, p)
	address := serve(t, s)

	b := newBrowser(t)
	b.run("the slow span", navigate(address), click(`a.name[data-id="`+slow+`"]`), visible(`.graph canvas`))
	b.run("where its time went", click(`[data-tab=time]`), visible(`.exact .waits a.name`))
	for selector, whole := range map[string]string{".answer .parts i": ".answer .parts", ".exact .lanes .track i": ".exact .lanes .track"} {
		drawn := get(b, chromedp.Evaluate[float64](fmt.Sprintf(`[...document.querySelectorAll(%q)].reduce((sum, i) => sum + i.getBoundingClientRect().width, 0) / document.querySelector(%q).getBoundingClientRect().width`, selector, whole)))
		if drawn < 0.95 || drawn > 1.05 {
			t.Errorf("%s fill %.3f of %s", selector, drawn, whole)
		}
	}
	table := get(b, chromedp.Evaluate[string](`document.querySelector('.exact table').innerText`))
	if got, want := strings.Join(strings.Fields(table), " "), "30.0 ms 60.0 % mutex 30.0 ms 60.0 % by refresh cache 20.0 ms 40.0 % on a CPU"; got != want {
		t.Errorf("the table of its time is %q, want %q", got, want)
	}
	b.screenshots("exact")
	b.run("the span that held its lock", click(`.exact .waits a.name`), visible(`h1 [title="refresh cache"]`))
	if query := b.at().Query().Get("query"); !strings.Contains(query, holder) {
		t.Errorf("the link leads to %s, want the span %s", query, holder)
	}
	b.check(address)
}
