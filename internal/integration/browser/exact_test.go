// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	rtrace "runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// checkout has one span wait for a lock that another holds, under an execution trace. It returns
// nil if the runtime writes that badly. Go 1.26.8 rarely does, on a busy machine.
func checkout(t *testing.T, tracer trace.Tracer, wait time.Duration) *exectrace.Analysis {
	t.Helper()
	var log bytes.Buffer
	if err := rtrace.Start(&log); err != nil {
		t.Fatal(err)
	}
	var prices sync.Mutex
	var working sync.WaitGroup
	held, waits := make(chan struct{}), make(chan struct{})
	burn := func(ctx context.Context, name string, length time.Duration) {
		_, child := tracer.Start(ctx, name)
		defer child.End()
		for from := time.Now(); time.Since(from) < length; {
		}
	}
	working.Go(func() {
		ctx, span := tracer.Start(context.Background(), "refresh cache")
		defer span.End()
		prices.Lock()
		defer prices.Unlock()
		close(held)
		<-waits
		_, child := tracer.Start(ctx, "load from disk")
		time.Sleep(wait)
		child.End()
		burn(ctx, "decode", wait/2)
	})
	<-held
	ctx, span := tracer.Start(context.Background(), "GET /checkout")
	var items sync.WaitGroup
	for _, name := range []string{"load cart", "load customer"} {
		items.Go(func() {
			_, child := tracer.Start(ctx, name)
			defer child.End()
			time.Sleep(wait / 3)
		})
	}
	items.Wait()
	close(waits)
	prices.Lock()
	burn(ctx, "render", wait/4)
	prices.Unlock()
	span.End()
	working.Wait()
	rtrace.Stop()
	a, err := exectrace.Analyze(&log, exectrace.Query{})
	if errors.Is(err, exectrace.ErrDamaged) {
		t.Logf("THE RUNTIME WROTE A TRACE BADLY: %v", err)
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// lockWait returns a span that waited for a lock, and the lock's holder. The holder loaded data
// for most of that time. On a busy machine a wait may be over before it begins, and a
// trace may lack a span: then it tries again, with longer waits.
func lockWait(t *testing.T, tracer trace.Tracer) (a *exectrace.Analysis, slow, holder exectrace.Span) {
	t.Helper()
	for wait := 30 * time.Millisecond; wait < 8*time.Second; wait *= 2 {
		if a = checkout(t, tracer, wait); a == nil {
			continue
		}
		find := func(name string) (span exectrace.Span) {
			if i := slices.IndexFunc(a.Spans, func(s exectrace.Span) bool { return s.Name == name }); i >= 0 {
				span = a.Spans[i]
			}
			return span
		}
		slow, holder = find("GET /checkout"), find("refresh cache")
		if holder.ID != "" && slices.ContainsFunc(slow.Waits, func(w exectrace.Wait) bool {
			if w.State != "mutex" || len(w.Blockers) == 0 || w.Blockers[0].SpanID != holder.ID {
				return false
			}
			did := w.Blockers[0].Did
			return len(did) > 0 && did[0].Child == "load from disk"
		}) {
			return a, slow, holder
		}
	}
	t.Fatalf("it did not wait for the lock while data was loaded: %+v", slow.Waits)
	return nil, slow, holder
}

// checkWaits compares the pprof that a link leads to with the waits of a span.
func checkWaits(t *testing.T, address string, slow, holder exectrace.Span) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	p, err := profile.Parse(answer.Body)
	if err != nil {
		t.Fatalf("%s: status %d: %v", address, answer.StatusCode, err)
	}
	type sum struct{ count, wait, held int64 }
	var got, want sum
	for _, w := range slow.Waits {
		want.count, want.wait = want.count+int64(w.Count), want.wait+w.Duration.Nanoseconds()
		if len(w.Blockers) > 0 && w.Blockers[0].SpanID == holder.ID {
			want.held += w.Duration.Nanoseconds()
		}
	}
	for _, s := range p.Sample {
		got.count, got.wait = got.count+s.Value[0], got.wait+s.Value[1]
		if s.HasLabel("ended_by_span_id", holder.ID) {
			got.held += s.Value[1]
		}
	}
	if got != want || len(p.Sample) != len(slow.Waits) {
		t.Errorf("the pprof has %d waits, %+v in all, the span %d, %+v", len(p.Sample), got, len(slow.Waits), want)
	}
}

// TestTimeTab goes from a slow span to the holder of its lock.
func TestTimeTab(t *testing.T) {
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	tracer := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(s.SpanProcessor()),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "shop"))))).Tracer("shop")
	a, slow, holder := lockWait(t, tracer)
	for _, span := range []exectrace.Span{slow, holder} {
		times, err := json.Marshal(struct {
			Format string    `json:"format"`
			Start  time.Time `json:"start"`
			exectrace.Span
		}{a.Format, a.Start.Add(span.Start), span})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.AddExactTimes(span.ID, times); err != nil {
			t.Fatal(err)
		}
	}
	// It has a sample, so that it has a flame graph too.
	f := &profile.Function{ID: 1, Name: "shop.(*Cart).render"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	window := exporter.Window{Kind: exporter.KindCPU, Start: time.Now().Add(-time.Minute), Duration: time.Minute}
	if err := s.Export(t.Context(), exporter.NewParsedProfile(window, &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1e7,
		Location: []*profile.Location{l}, Function: []*profile.Function{f},
		Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{1, 1e7}, Label: map[string][]string{"profile_id": {slow.ID}, "span_id": {slow.ID}}}},
	})); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(viewer.Handler(s))
	t.Cleanup(server.Close)

	b := newBrowser(t)
	b.run("the slow span",
		chromedp.Navigate(server.URL+"/"),
		chromedp.WaitVisible(css(`a.name[data-id="`+slow.ID+`"]`)),
		click(`a.name[data-id="`+slow.ID+`"]`),
		chromedp.WaitVisible(css(`.graph canvas`)))
	b.run("where its time went",
		click(`[data-tab=time]`),
		chromedp.WaitVisible(css(`.exact .waits a.name`)))
	text := b.text(`.exact`)
	for _, want := range []string{"mutex", "refresh cache", "in load from disk", "browser.checkout", "exact_test.go", "load customer"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	if drawn := get(b, chromedp.Evaluate[float64](`[...document.querySelectorAll('.answer .parts i')].reduce((sum, i) => sum + i.getBoundingClientRect().width, 0) / document.querySelector('.answer .parts').getBoundingClientRect().width`)); drawn < 0.95 || drawn > 1.05 {
		t.Errorf("the states fill %.3f of their bar", drawn)
	}
	if got := get(b, chromedp.Evaluate[int](`document.querySelectorAll('.exact .lanes li').length`)); got != len(slow.Goroutines) {
		t.Errorf("%d lanes, want one for each of %d goroutines", got, len(slow.Goroutines))
	}
	checkWaits(t, get(b, chromedp.Evaluate[string](`document.querySelector('.exact a[download]').href`)), slow, holder)
	b.screenshots("exact")
	b.run("the span that held its lock",
		click(`.exact .waits a.name`),
		chromedp.WaitVisible(css(`h1 [title="refresh cache"]`)),
		chromedp.WaitVisible(css(`.exact .lanes`)))
	if id := get(b, chromedp.Evaluate[string](`new URLSearchParams(location.search).get('query')`)); !strings.Contains(id, holder.ID) {
		t.Errorf("the link leads to %s, want the span %s", id, holder.ID)
	}
	// It has no samples: what it did is there all the same.
	if text := b.text(`article`); !strings.Contains(text, "sleep") || !strings.Contains(text, "decode") {
		t.Errorf("of the span that held the lock: %q", text)
	}
	b.screenshots("exactholder")
	b.check(server.URL + "/")
}
