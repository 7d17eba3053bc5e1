// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// serverAttributes are those of an HTTP server's span as otelhttp sets them, of which
// five are telling.
func serverAttributes(path string) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("server.address", "shop.example"),
		attribute.String("http.request.method", "GET"),
		attribute.String("url.scheme", "https"),
		attribute.String("url.path", path),
		attribute.String("http.route", "/cart/{id}"),
		attribute.String("network.protocol.version", "1.1"),
		attribute.Int("http.response.status_code", 200),
		attribute.String("user_agent.original", "Mozilla/5.0"),
	}
}

// span returns a span that has ended; a local root unless parent is set.
func spanWith(id, parent trace.SpanID, attributes []attribute.KeyValue) sdktrace.ReadOnlySpan {
	stub := tracetest.SpanStub{
		Name:        "GET /cart/{id}",
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: id}),
		StartTime:   epoch,
		EndTime:     epoch.Add(step),
		Attributes:  attributes,
		Resource:    checkout,
	}
	if parent.IsValid() {
		stub.Parent = trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: parent})
	}
	return stub.Snapshot()
}

// BenchmarkSpanAttributes measures the processor alone, for local roots with equal
// attributes and with those of their own, and for a request with a child that is not
// recorded itself.
func BenchmarkSpanAttributes(b *testing.B) {
	const spans = 4096
	query := []attribute.KeyValue{
		attribute.String("db.system.name", "postgresql"),
		attribute.String("db.query.text", "SELECT id, price FROM item WHERE cart = $1"),
	}
	for _, bb := range []struct {
		name       string
		attributes func(i int) []attribute.KeyValue
		child      []attribute.KeyValue
		children   int
	}{
		{"attributes=0", func(int) []attribute.KeyValue { return nil }, nil, 0},
		{"attributes=8,equal", func(int) []attribute.KeyValue { return serverAttributes("/cart/1") }, nil, 0},
		{"attributes=8,own", func(i int) []attribute.KeyValue { return serverAttributes(fmt.Sprint("/cart/", i)) }, nil, 0},
		{"attributes=0,child=0", func(int) []attribute.KeyValue { return nil }, nil, 1},
		{"attributes=8,child=2", func(int) []attribute.KeyValue { return serverAttributes("/cart/1") }, query, 1},
	} {
		b.Run(bb.name, func(b *testing.B) {
			var roots, children []sdktrace.ReadOnlySpan
			var started []sdktrace.ReadWriteSpan
			for i := range spans {
				id := trace.SpanID{1, byte(i >> 8), byte(i)}
				roots = append(roots, spanWith(id, trace.SpanID{}, bb.attributes(i)))
				started = append(started, readWriteSpan{span: roots[i]})
				if bb.children > 0 {
					children = append(children, spanWith(trace.SpanID{2, byte(i >> 8), byte(i)}, id, bb.child))
				}
			}
			p, ctx := newStore(b, store.WithMaxBytes(4<<20)).SpanProcessor(), b.Context()
			i := 0
			request := func() {
				p.OnStart(ctx, started[i%spans])
				if bb.children > 0 {
					p.OnEnd(children[i%spans])
				}
				p.OnEnd(roots[i%spans])
				i++
			}
			// The store is full first.
			for range 8 * spans {
				request()
			}
			b.ReportAllocs()
			for b.Loop() {
				request()
			}
		})
	}
}
