// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// newRequests adds spans of a name to a store, each with a child. The child of a span from the
// tenth but last on takes 100 ms of CPU time. The other children take 10 ms.
func newRequests(t *testing.T, s *store.Store, service, name string, n int) {
	t.Helper()
	res := resource.NewSchemaless(attribute.String("service.name", service))
	tracer := newTracer(s, res)
	b := newProfileBuilder()
	for i := range n {
		start, ticks := epoch.Add(time.Duration(i)*50*time.Millisecond), 1
		if i >= n-10 {
			ticks = 10
		}
		ctx, parent := tracer.Start(t.Context(), name, trace.WithTimestamp(start))
		_, child := tracer.Start(ctx, "query", trace.WithTimestamp(start))
		for _, span := range []trace.Span{child, parent} {
			span.SetAttributes(attribute.String("pyroscope.profile.id", span.SpanContext().SpanID().String()))
			span.End(trace.WithTimestamp(start.Add(time.Duration(ticks) * 10 * time.Millisecond)))
		}
		id := child.SpanContext().SpanID().String()
		b.add(int64(ticks), map[string][]string{"profile_id": {id}, "span_id": {id}, "trace_id": {child.SpanContext().TraceID().String()}, "span_name": {"query"}}, "shop.query", "main.serve")
	}
	export(t, s, res, exporter.KindCPU, b.profile)
}

func about(t *testing.T, s *store.Store, name string, more ...string) (a answer.About, text string) {
	t.Helper()
	h := viewer.Handler(s)
	address := target("/about", append([]string{"name", name}, more...)...)
	getJSON(t, h, address, http.StatusOK, &a)
	return a, get(t, h, address+"&format=text").Body.String()
}

// The work of a span that starts others is below it.
func TestTailCountsChildren(t *testing.T) {
	s := newStore(t)
	newRequests(t, s, "shop", "GET /", 60)
	a, text := about(t, s, "GET /")
	if want := "100 ms  cpu 100 ms  "; !strings.Contains(text, want) {
		t.Errorf("got %s, want %q in it", text, want)
	}
	if want := "+90.0 ms on a CPU in shop.query"; !strings.Contains(a.Tail.Sentence, want) {
		t.Errorf("got %q, want %q in it", a.Tail.Sentence, want)
	}
}

// A name has its parts too if all its spans are equally slow.
func TestAboutParts(t *testing.T) {
	s := newStore(t)
	newRequests(t, s, "shop", "GET /", 9)
	b := newProfileBuilder()
	b.profile.SampleType[1].Type = "wall"
	labels := map[string][]string{"span_name": {"GET /"}}
	b.addValues([]int64{90, 9e9}, labels, "runtime.gopark", "runtime.semacquire1", "sync.runtime_SemacquireMutex", "shop.lock")
	b.addValues([]int64{10, 1e9}, labels, "shop.query")
	export(t, s, shop, exporter.KindWall, b.profile)
	a, text := about(t, s, "GET /")
	if want := []answer.Part{{Part: "mutex in shop.lock", Share: 0.9}, {Part: "ready without a CPU", Share: 0.1}}; !slices.Equal(a.Parts, want) {
		t.Errorf("got %v, want %v", a.Parts, want)
	}
	if want := "Their wall time: 90 % mutex in shop.lock, 10 % ready without a CPU."; !strings.Contains(text, want) {
		t.Errorf("got %s, want %q in it", text, want)
	}
}

// Without a wall profile the waits have no name.
func TestTailWithoutWall(t *testing.T) {
	s := newStore(t)
	tracer := newTracer(s, shop)
	b := newProfileBuilder()
	for i := range 60 {
		_, span := tracer.Start(t.Context(), "GET /", trace.WithTimestamp(epoch))
		span.SetAttributes(attribute.String("pyroscope.profile.id", idOf(span)))
		span.End(trace.WithTimestamp(epoch.Add(time.Duration(20+100*(i/50)) * time.Millisecond)))
		b.add(1, idLabels(span), "main.serve")
	}
	export(t, s, shop, exporter.KindCPU, b.profile)
	a, _ := about(t, s, "GET /")
	if want := "Slow spans take 120 ms, median ones 20.0 ms: +100 ms not on a CPU."; a.Tail.Sentence != want {
		t.Errorf("got %q, want %q", a.Tail.Sentence, want)
	}
}

// Only a query for the spans of a name and nothing else has the name.
func TestSpanName(t *testing.T) {
	s := newStore(t)
	newRequests(t, s, "shop", "GET /", 30)
	newRequests(t, s, "bank", "GET /", 30)
	for query, want := range map[string][2]string{
		`.cpu{span_name="query"}`:                 {"query", ""},
		`shop.cpu{span_name="query"}`:             {"query", "shop"},
		`{span_name="query",service_name="bank"}`: {"query", "bank"},
		`{span_name="query",profile_id!="a"}`:     {},
		`.cpu`:                                    {},
	} {
		a := profileOf(t, viewer.Handler(s), query)
		if got := [2]string{a.SpanName, a.SpanService}; got != want || a.Total == 0 {
			t.Errorf("%s: got %q, want %q; total %d", query, got, want, a.Total)
		}
	}
}

// The label of renamed spans is a name too.
func TestAboutLabel(t *testing.T) {
	s := newStore(t)
	tracer := newTracer(s, shop)
	b := newProfileBuilder()
	for _, name := range []string{"GET /cart", "GET /user"} {
		_, span := tracer.Start(t.Context(), name, trace.WithTimestamp(epoch))
		span.End(trace.WithTimestamp(epoch.Add(time.Second)))
		labels := idLabels(span)
		labels["span_name"] = []string{"other"}
		b.add(1, labels, "main.serve")
	}
	exportSecond(t, s, 0, b)
	if a, _ := about(t, s, "other"); len(a.Slowest) != 2 {
		t.Errorf("%+v", a)
	}
}

// A long name with control characters takes one line of an address.
func TestAboutOddNames(t *testing.T) {
	s := newStore(t)
	name := "50% \"a\"\n\x1b[31m$(id)`" + strings.Repeat("long ", 200)
	newRequests(t, s, "shop", name, 30)
	_, text := about(t, s, name)
	if strings.Contains(text, "\x1b") {
		t.Errorf("control characters in\n%s", text)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := lines[len(lines)-1]
	if len(lines) > 40 || !strings.HasPrefix(last, "  ?format=text&order=slowest&name=50%25%20%22a%22%0A%1B%5B31m%24%28id%29%60") {
		t.Errorf("%d lines, and the last is %.80q", len(lines), last)
	}
}

// The spans of two services are counted once each, unless a service is named. Functions are of
// all spans of a name.
func TestAboutConditions(t *testing.T) {
	s := newStore(t)
	newRequests(t, s, "shop", "GET /", 30)
	newRequests(t, s, "bank", "GET /", 60)
	for _, test := range []struct{ name, key, value, sentence, note string }{
		{"GET /", "service", "", "GET /: 90 spans, 10.0 ms at the median, 100 ms at p95, 100 ms at most; 30.0 ms of CPU each.", ""},
		{"GET /", "service", "shop", "GET /: 30 spans, 10.0 ms at the median, 100 ms at p95, 100 ms at most; 40.0 ms of CPU each.", ""},
		{"GET /", "min", "50ms", "GET /: 20 of 90 spans, 100 ms at the median, 100 ms at p95, 100 ms at most; 100 ms of CPU each.", ""},
		{"GET /", "min", "1h", "GET /: no span that is held meets the conditions.", "the functions are of all spans of this name, without the other conditions"},
		{"x", "service", "shop", "x: no span that is held meets the conditions.", ""},
	} {
		a, _ := about(t, s, test.name, test.key, test.value)
		if a.Sentence != test.sentence || !strings.Contains(a.Note, test.note) {
			t.Errorf("%+v: got %q, note %q", test, a.Sentence, a.Note)
		}
	}
}
