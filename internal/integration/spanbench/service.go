// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	grafana "github.com/grafana/otel-profiling-go"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/inprocess"
)

// discard is an exporter that costs nothing.
type discard struct{}

func (discard) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }

func (discard) Shutdown(context.Context) error { return nil }

// request are the attributes of a server's span.
var request = trace.WithAttributes(
	attribute.String("http.request.method", "GET"),
	attribute.String("url.scheme", "http"),
	attribute.String("server.address", "shop.example.com"),
	attribute.Int("server.port", 8080),
	attribute.String("url.path", "/cart"),
	attribute.String("user_agent.original", "curl/8.0"),
	attribute.String("client.address", "192.0.2.1"),
	attribute.String("http.route", "/cart"),
)

// service makes the candidates of a table. page keeps the spans of all candidates with a
// page: a process has one CPU profiler, which measures all candidates alike.
type service struct {
	options []trace.SpanStartOption
	page    *inprocess.Profiling
}

func (s *service) root(name string, tp trace.TracerProvider) candidate {
	return candidate{name: name, span: under(context.Background(), tp, s.options...)}
}

// withPage returns a candidate that also stores its spans for the page.
func (s *service) withPage(name string, tp interface {
	trace.TracerProvider
	inprocess.TracerProvider
},
) candidate {
	tp.RegisterSpanProcessor(s.page.Store().SpanProcessor())
	return s.root(name, tp)
}

func batched(exporter sdktrace.SpanExporter) *sdktrace.TracerProvider {
	return sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
}

// candidates returns spans that go to a batch processor, except with the bare SDK.
func (s *service) candidates() []candidate {
	return []candidate{
		s.root("bare SDK, a processor that does nothing", sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(nothing{}))),
		s.root("batch span processor", batched(discard{})),
		s.withPage("batch, spanprof and inprocess", ours(batched(discard{}))),
		s.withPage("batch, spanprof and inprocess, no attribute", ours(batched(discard{}), noID)),
		s.root("batch, spanprof", ours(batched(discard{}))),
		s.root("batch, otel-profiling-go v0.7.0", grafana.NewTracerProvider(batched(discard{}))),
	}
}

// nothing is a processor without effect. Without any processor the SDK skips attributes.
type nothing struct{ sdktrace.SpanProcessor }

func (nothing) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

func (nothing) OnEnd(sdktrace.ReadOnlySpan) {}

// printService prints the cost of a local root for a service. It runs on 1, 2 and 8
// goroutines and with 1 and 2 cores.
func printService(w io.Writer, rounds int) error {
	page, err := inprocess.Start(nil)
	if err != nil {
		return err
	}
	for _, spans := range []struct {
		name    string
		options []trace.SpanStartOption
	}{
		{"without attributes", nil},
		{"with 8 attributes of its own", []trace.SpanStartOption{request}},
	} {
		s := service{options: spans.options, page: page}
		list := s.candidates()
		for _, n := range []int{1, 2, 8} {
			// Batches of many goroutines are longer.
			name := fmt.Sprintf("root %s, goroutines: %d", spans.name, n)
			scenario{name: name, candidates: list, goroutines: n}.print(w, max(rounds/n, 20))
		}
		fmt.Fprintf(w, "root %s, goroutines: 8\t1 core, M/s\t2 cores\tgain\t\n", spans.name)
		for _, c := range list {
			one, two := c.throughput(1), c.throughput(2)
			fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t\n", c.name, one/1e6, two/1e6, two/one)
		}
		fmt.Fprintln(w, "\t\t\t\t")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return page.Shutdown(ctx)
}
