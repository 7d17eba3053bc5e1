// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

var update = flag.Bool("update", false, "write golden files")

// The spans of newTestStore.
const (
	slowID  = "00000000000000a1"
	fastID  = "00000000000000a2"
	shortID = "00000000000000a3"
	evilID  = "00000000000000a4"
	openID  = "00000000000000a5"

	evilName = `<img src=x onerror="alert(1)">`
)

// epoch is when the only window of newTestStore begins; it lasts ten seconds.
var epoch = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// fixedIDs gives out the ids a1, a2 and so on.
type fixedIDs struct{ last byte }

func (g *fixedIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id := g.NewSpanID(ctx, trace.TraceID{})
	return trace.TraceID{15: id[7], 0: 1}, id
}

func (g *fixedIDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	g.last++
	return trace.SpanID{7: 0xa0 + g.last}
}

// newTestStore returns a store with one window of CPU, one of heap, a few spans
// and a manual exemplar.
func newTestStore(t testing.TB) *store.Store {
	t.Helper()
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithResource(shop), sdktrace.WithIDGenerator(&fixedIDs{}), sdktrace.WithSpanProcessor(s.SpanProcessor()))
	tracer := tp.Tracer("test")
	span := func(name string, start, wall time.Duration, status string) {
		_, span := tracer.Start(t.Context(), name, trace.WithTimestamp(epoch.Add(start)))
		if status != "" {
			span.SetStatus(codes.Error, status)
		}
		span.End(trace.WithTimestamp(epoch.Add(start + wall)))
	}
	span("GET /search", time.Second, 800*time.Millisecond, "")
	span("GET /search", 2*time.Second, 100*time.Millisecond, "")
	span("GET /search", 3*time.Second, 400*time.Microsecond, "")
	span(evilName, 4*time.Second, 50*time.Millisecond, "bad & worse")
	span("GET /late", 9*time.Second, 5*time.Second, "")

	b := newProfileBuilder()
	b.add(40, labels(slowID, "GET /search"), "regexp.tryBacktrack", "regexp.doExecute", "main.search", "main.serve")
	b.add(10, labels(slowID, "GET /search"), "regexp.step", "regexp.tryBacktrack", "regexp.doExecute", "main.search", "main.serve")
	b.add(5, labels(slowID, "GET /search"), "json.Marshal", "main.serve")
	b.add(2, labels(fastID, "GET /search"), "regexp.tryBacktrack", "regexp.doExecute", "main.search", "main.serve")
	b.add(6, labels(fastID, "GET /search"), "json.Marshal", "main.serve")
	b.add(3, labels(evilID, evilName), "main.sort", "main.serve")
	b.add(7, map[string][]string{"profile_id": {"nightly #7"}}, "main.sort", "main.report")
	b.add(4, nil, "runtime.gcBgMarkWorker")
	exportSecond(t, s, 0, b)

	heap := newProfileBuilder()
	heap.profile.SampleType = []*profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}}
	heap.addValues([]int64{10, 20480, 1, 2048}, nil, "bytes.growSlice", "main.serve")
	export(t, s, shop, exporter.KindHeap, heap.profile)
	return s
}

// shop is the resource of most tests.
var shop = resource.NewSchemaless(attribute.String("service.name", "shop"))

// newTracer returns a tracer of spans that s records.
func newTracer(s *store.Store, res *resource.Resource) trace.Tracer {
	return sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithSpanProcessor(s.SpanProcessor())).Tracer("test")
}

func labels(id, name string) map[string][]string {
	return map[string][]string{"profile_id": {id}, "span_id": {id}, "trace_id": {"010000000000000000000000000000" + id[14:]}, "span_name": {name}}
}

// export exports a window of ten seconds that begins with the epoch.
func export(t testing.TB, s *store.Store, res *resource.Resource, kind exporter.Kind, p *profile.Profile) {
	t.Helper()
	exportAt(t, s, 0, res, kind, p)
}

// exportSecond exports a window of CPU that begins at a second of the test.
func exportSecond(t testing.TB, s *store.Store, second int, b *profileBuilder) {
	t.Helper()
	exportAt(t, s, second, shop, exporter.KindCPU, b.profile)
}

func exportAt(t testing.TB, s *store.Store, second int, res *resource.Resource, kind exporter.Kind, p *profile.Profile) {
	t.Helper()
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	window := exporter.Window{Kind: kind, Start: epoch.Add(time.Duration(second) * time.Second), Duration: 10 * time.Second, Resource: res}
	if err := s.Export(t.Context(), exporter.NewParsedProfile(window, p)); err != nil {
		t.Fatal(err)
	}
}

// profileBuilder makes CPU profiles of 100 samples a second.
type profileBuilder struct {
	profile   *profile.Profile
	locations map[string]*profile.Location
}

func newProfileBuilder() *profileBuilder {
	return &profileBuilder{
		profile: &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
			PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
			Period:     1e7,
			TimeNanos:  epoch.UnixNano(),
		},
		locations: map[string]*profile.Location{},
	}
}

func (b *profileBuilder) add(n int64, labels map[string][]string, leafFirst ...string) {
	b.addValues([]int64{n, n * 1e7}, labels, leafFirst...)
}

func (b *profileBuilder) addValues(values []int64, labels map[string][]string, leafFirst ...string) {
	s := &profile.Sample{Value: values, Label: labels}
	for _, name := range leafFirst {
		s.Location = append(s.Location, b.location(name))
	}
	b.profile.Sample = append(b.profile.Sample, s)
}

func (b *profileBuilder) location(name string) *profile.Location {
	loc, ok := b.locations[name]
	if !ok {
		id := uint64(len(b.locations) + 1)
		fn := &profile.Function{ID: id, Name: name, SystemName: name, Filename: "/src/" + name + ".go", StartLine: int64(id)}
		loc = &profile.Location{ID: id, Address: 0x1000 + id, Line: []profile.Line{{Function: fn, Line: int64(id) + 3}}}
		b.locations[name] = loc
		b.profile.Function = append(b.profile.Function, fn)
		b.profile.Location = append(b.profile.Location, loc)
	}
	return loc
}

// get sends a request to h, as a local browser does.
func get(t testing.TB, h http.Handler, target string) *httptest.ResponseRecorder {
	t.Helper()
	return do(t, h, httptest.NewRequest(http.MethodGet, target, nil))
}

func do(t testing.TB, h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	if r.Host == "example.com" {
		r.Host = "localhost:6060"
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// target builds an address from pairs of names and values.
func target(path string, pairs ...string) string {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return path + "?" + v.Encode()
}

func getJSON(t testing.TB, h http.Handler, target string, status int, v any) {
	t.Helper()
	w := get(t, h, target)
	if w.Code != status {
		t.Fatalf("GET %s: status %d, want %d: %s", target, w.Code, status, w.Body)
	}
	if ct := w.Header().Get("Content-Type"); ct != "application/json" {
		t.Errorf("GET %s: content type %q, want JSON", target, ct)
	}
	if err := json.Unmarshal(w.Body.Bytes(), v); err != nil {
		t.Fatalf("GET %s: %v in %s", target, err, w.Body)
	}
}

// profileOf returns the JSON of a query.
func profileOf(t testing.TB, h http.Handler, query string) (a answer.Profile) {
	t.Helper()
	getJSON(t, h, target("/", "query", query, "format", "json"), http.StatusOK, &a)
	return a
}

// listOf returns the JSON of the list of spans.
func listOf(t testing.TB, h http.Handler) (list answer.SpanList) {
	t.Helper()
	getJSON(t, h, "/?format=json", http.StatusOK, &list)
	return list
}

func gunzip(t testing.TB, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// golden compares got with a file in testdata; -update writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got, -update writes it):\n%s", name, diff)
	}
}
