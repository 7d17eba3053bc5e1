// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// BenchmarkSpanList is the request that the page makes every two seconds. The store has the
// default size and is full of spans, one in ten with samples.
func BenchmarkSpanList(b *testing.B) {
	s, err := store.New()
	if err != nil {
		b.Fatal(err)
	}
	res := resource.NewSchemaless(attribute.String("service.name", "shop"))
	p, profile := s.SpanProcessor(), newProfileBuilder()
	for i := range 160_000 {
		id := trace.SpanID{0: 1}
		binary.BigEndian.PutUint32(id[4:], uint32(i))
		name := fmt.Sprintf("GET /resource/%d", i%40)
		start := epoch.Add(time.Duration(i) * time.Millisecond)
		p.OnEnd(tracetest.SpanStub{
			Name:        name,
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: id}),
			StartTime:   start,
			EndTime:     start.Add(time.Duration(i%1000) * time.Millisecond),
			Resource:    res,
		}.Snapshot())
		if i%10 == 0 {
			profile.add(1, labels(id.String(), name), "main.search", "main.serve")
		}
	}
	export(b, s, res, exporter.KindCPU, profile.profile)
	h := viewer.Handler(s)
	for _, order := range []string{"newest", "slowest", "cpu"} {
		b.Run(order, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if w := get(b, h, "/?format=json&limit=500&order="+order); w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
			}
			b.ReportMetric(float64(s.Stats().Spans), "spans")
		})
	}
}

// BenchmarkSpan is the request for a span with 10,000 samples. It takes the bytes from the store to
// the client, plain and compressed.
func BenchmarkSpan(b *testing.B) {
	s := newBenchStore(b)
	h := viewer.Handler(s)
	address := target("/", "query", byID(slowID), "format", "json")
	var a answer.Profile
	getJSON(b, h, address, http.StatusOK, &a)
	if a.Samples != 10_000 {
		b.Fatalf("%d samples", a.Samples)
	}
	for _, encoding := range []string{"identity", "gzip"} {
		b.Run(encoding, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, address, nil)
			r.Header.Set("Accept-Encoding", encoding)
			r.Host = "localhost"
			var sent byteCounter
			b.ReportAllocs()
			for b.Loop() {
				sent = byteCounter{}
				h.ServeHTTP(&sent, r)
			}
			b.ReportMetric(float64(sent.n), "sent-B/op")
		})
	}
}

// byteCounter is a client that counts what it is sent and, unlike a recorder,
// does not keep it.
type byteCounter struct {
	header http.Header
	n      int
}

func (c *byteCounter) Header() http.Header {
	if c.header == nil {
		c.header = http.Header{}
	}
	return c.header
}

func (c *byteCounter) Write(b []byte) (int, error) {
	c.n += len(b)
	return len(b), nil
}

func (c *byteCounter) WriteHeader(int) {}

// The page of a span with 10,000 samples is smaller than its profile. The bytes of gzip depend on
// the version of Go, so both are compressed the same way. BenchmarkSpan measures the time.
func TestSizeOfSpan(t *testing.T) {
	h := viewer.Handler(newBenchStore(t))
	page := get(t, h, target("/", "query", byID(slowID), "format", "json")).Body.Bytes()
	if len(page) > 245_000 {
		t.Errorf("%d bytes, want 245 KB at most", len(page))
	}
	z, err := gzip.NewReader(get(t, h, target("/", "query", byID(slowID), "format", "pprof")).Body)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	profile := len(gzipped(t, plain)) // by the same level as the page
	if size := len(gzipped(t, page)); 10*size > 9*profile {
		t.Errorf("%d bytes gzipped, want nine tenths of the %d of the profile at most", size, profile)
	}
}

// newBenchStore returns a store with a span of 10,000 samples of a made-up
// program.
func newBenchStore(tb testing.TB) *store.Store {
	tb.Helper()
	s, err := store.New()
	if err != nil {
		tb.Fatal(err)
	}
	// Every function calls up to three others, the first of them most of the time.
	const samples, depth, functions = 10_000, 30, 400
	profile, rnd := newProfileBuilder(), rand.New(rand.NewPCG(1, 2))
	stacks := map[string]int64{}
	for range samples {
		var stack []string
		at := 0
		for range depth/2 + rnd.IntN(depth/2) {
			stack = append(stack, fmt.Sprintf("example.com/some/module/package%d.(*Type%d).Method%d", at%20, at%50, at))
			callee := 0
			for callee < 2 && rnd.IntN(24) == 0 {
				callee++
			}
			at = (at*3 + callee + 1) % functions
		}
		slices.Reverse(stack)
		stacks[strings.Join(stack, "\n")]++
	}
	for _, stack := range slices.Sorted(maps.Keys(stacks)) {
		profile.add(stacks[stack], labels(slowID, "GET /search"), strings.Split(stack, "\n")...)
	}
	res := resource.NewSchemaless(attribute.String("service.name", "shop"))
	export(tb, s, res, exporter.KindCPU, profile.profile)
	return s
}
