// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// ids gives a span the id that it had when it was recorded.
type ids struct{ next trace.SpanID }

func (g *ids) NewIDs(context.Context) (trace.TraceID, trace.SpanID) {
	return trace.TraceID{0: 1, 15: g.next[7]}, g.next
}

func (g *ids) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return g.next }

// spans returns what the target ran by span: its first and last slice.
func (t truth) spans() []slice {
	var spans []slice
	for _, s := range t {
		if s.Span == "" {
			continue
		}
		if i := slices.IndexFunc(spans, func(x slice) bool { return x.Span == s.Span }); i >= 0 {
			spans[i].Until = s.Until
			continue
		}
		spans = append(spans, s)
	}
	return spans
}

// page is a store that has taken a recording and its spans, and the viewer over it.
type page struct {
	store   *store.Store
	status  Status
	handler http.Handler
}

func newPage(t *testing.T, load string, opts ...Option) (page, truth) {
	t.Helper()
	truth, messages := recorded(t, load)
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	res := resource.NewSchemaless(attribute.String("service.name", "shop"))
	gen := new(ids)
	tp := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(gen), sdktrace.WithResource(res), sdktrace.WithSpanProcessor(s.SpanProcessor()))
	for _, span := range truth.spans() {
		if _, err := hex.Decode(gen.next[:], []byte(span.Span)); err != nil {
			t.Fatal(err)
		}
		_, running := tp.Tracer("test").Start(t.Context(), span.Name, trace.WithTimestamp(time.Unix(0, span.From)))
		running.End(trace.WithTimestamp(time.Unix(0, span.Until)))
	}
	r, err := New(s, LookupIn(s), append(opts, WithResource(res))...)
	if err != nil {
		t.Fatal(err)
	}
	r.pid = truth.pid(t, messages)
	for _, m := range messages {
		if err := r.take(t.Context(), "connection", m); err != nil {
			t.Fatal(err)
		}
	}
	return page{s, r.Status(), viewer.Handler(s)}, truth
}

func (p page) get(t *testing.T, query, format string) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	address := "http://localhost/?" + url.Values{"query": {query}, "format": {format}}.Encode()
	p.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody))
	if w.Code != http.StatusOK {
		t.Fatalf("%s as %s: %d %s", query, format, w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// hostProfile is what the tests need of the page's JSON.
type hostProfile struct {
	Title, Note, Empty string
	Total, Samples     int64
	Kinds              []struct {
		Type    string
		Samples int64
	}
	FrameTypes []struct {
		Type string
		Self int64
	}
	Executables []struct{ File string }
}

func (p page) json(t *testing.T, query string) (a hostProfile) {
	t.Helper()
	if err := json.Unmarshal(p.get(t, query, "json"), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// tab returns the number of samples beside a tab.
func (a hostProfile) tab(name string) int64 {
	for _, k := range a.Kinds {
		if k.Type == name {
			return k.Samples
		}
	}
	return 0
}

func byID(id string) string { return fmt.Sprintf(`shop.host{profile_id=%q}`, id) }

// byWitness returns the query for samples with a witness, of one span or of all.
func byWitness(witness string, id ...string) string {
	q := fmt.Sprintf(`shop.host{%s=%q`, labelkey.SpanAttribution, witness)
	if len(id) > 0 {
		q += fmt.Sprintf(`,profile_id=%q`, id[0])
	}
	return q + "}"
}

// TestPages follows recordings through the store to the pages of their spans: each
// sample is on one page, and is what the target ran.
func TestPages(t *testing.T) {
	for _, load := range loads {
		truth, _ := recorded(t, load)
		t.Run(load, func(t *testing.T) { checkPages(t, load, []string{labelkey.First}) })
		t.Run(load+" with timelines", func(t *testing.T) {
			checkPages(t, load, []string{labelkey.First, labelkey.ByTimeline}, WithTimelines(timelines{truth}))
		})
	}
	for _, load := range []string{"tight-keyed", "shared-keyed"} {
		t.Run(load, func(t *testing.T) { checkPages(t, load, []string{labelkey.ByLabels}) })
	}
}

// checkPages takes the witnesses that pages may name.
func checkPages(t *testing.T, load string, witnesses []string, opts ...Option) {
	t.Helper()
	p, truth := newPage(t, load, opts...)
	_, messages := recorded(t, load)
	want, _, _ := truth.compare(t, messages, opts...)
	all := p.json(t, "shop.host")
	certain := p.status.First + p.status.Witnessed + p.status.Placed
	ambiguous := p.json(t, byWitness(labelkey.Ambiguous)).Samples
	if all.Samples != int64(certain+p.status.Ambiguous) || ambiguous != int64(p.status.Ambiguous) {
		t.Errorf("the process has %d samples, %d of them ambiguous, want %+v", all.Samples, ambiguous, p.status)
	}
	period := all.Total / all.Samples
	onPages := int64(0)
	for _, span := range truth.spans() {
		a := p.json(t, byID(span.Span))
		onPages += a.Samples
		if a.Title != span.Name {
			t.Errorf("span %s has the title %q, want %q", span.Span, a.Title, span.Name)
		}
		if a.Total != a.Samples*period {
			t.Errorf("span %s: %d ns in %d samples of %d ns", span.Span, a.Total, a.Samples, period)
		}
		witnessed := int64(0)
		for _, w := range witnesses {
			witnessed += p.json(t, byWitness(w, span.Span)).Samples
		}
		if witnessed != a.Samples {
			t.Errorf("span %s has witnesses of %d samples for its %d", span.Span, witnessed, a.Samples)
		}
		if tab := a.tab("host"); tab != a.Samples {
			t.Errorf("span %s has %d samples in the tab host, want %d", span.Span, tab, a.Samples)
		}
	}
	if right := int64(want.right + want.unknown); want.wrong != 0 || onPages != right {
		t.Errorf("%d samples on the spans' pages, want the %d right ones of %v", onPages, right, want)
	}
	for _, span := range truth.spans()[:2] {
		if a := p.json(t, fmt.Sprintf(`shop.host{span_name=%q}`, span.Name)); a.Samples == 0 {
			t.Errorf("nothing has the span_name %q in full: %s", span.Name, a.Empty)
		}
	}
	t.Logf("%d samples on the pages of %d spans, 0 wrong, %d ambiguous", onPages, len(truth.spans()), p.status.Ambiguous)
}
