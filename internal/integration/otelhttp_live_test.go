// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

// Package integration tests spanprof with other programs and libraries.
package integration

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"strings"
	"testing"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/spanprof/spanprof"
)

// Every span of otelhttp's server and client is labelled. This includes spans started
// from the provider of a span in the context.
func TestOtelHTTP(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)), spanprof.WithRootSpanOnly(false))
	propagator := otelhttp.WithPropagators(propagation.TraceContext{})
	byOperation := otelhttp.WithSpanNameFormatter(func(operation string, _ *http.Request) string { return operation })

	labels := make(chan string, 2)
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		labels <- idsIn(r.Context())
		_, _ = io.WriteString(w, "ok")
	})
	// A second layer without a provider uses the provider of the span in the
	// context.
	route := otelhttp.NewHandler(inner, "route", propagator, byOperation)
	server := httptest.NewServer(otelhttp.NewHandler(route, "server", otelhttp.WithTracerProvider(tp), propagator, byOperation))
	defer server.Close()

	ctx, root := tp.Tracer("test").Start(t.Context(), "root")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: otelhttp.NewTransport(labelSpy{labels}, propagator)}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	root.End()
	server.Close()

	byName := map[string]sdktrace.ReadOnlySpan{}
	for _, span := range recorder.Ended() {
		byName[span.Name()] = span
		id := ""
		for _, a := range span.Attributes() {
			if a.Key == spanprof.AttributeProfileID {
				id = a.Value.AsString()
			}
		}
		if id != span.SpanContext().SpanID().String() {
			t.Errorf("%s has pyroscope.profile.id %q", span.Name(), id)
		}
	}
	if len(byName) != 4 {
		t.Fatalf("spans %v, want root, client, server and route", byName)
	}
	if got, want := <-labels, idsOf(byName["HTTP GET"]); got != want {
		t.Errorf("the client's transport has labels %s, want those of its span, %s", got, want)
	}
	if got, want := <-labels, idsOf(byName["route"]); got != want {
		t.Errorf("the handler has labels %s, want those of route, %s", got, want)
	}
}

// labelSpy is a transport that notes the labels it is used with.
type labelSpy struct{ labels chan<- string }

func (s labelSpy) RoundTrip(r *http.Request) (*http.Response, error) {
	s.labels <- idsIn(r.Context())
	return http.DefaultTransport.RoundTrip(r)
}

func idsIn(ctx context.Context) string {
	var ids []string
	for _, key := range []string{spanprof.LabelSpanID, spanprof.LabelTraceID} {
		value, _ := pprof.Label(ctx, key)
		ids = append(ids, value)
	}
	return strings.Join(ids, " ")
}

func idsOf(span sdktrace.ReadOnlySpan) string {
	if span == nil {
		return "no such span"
	}
	return fmt.Sprint(span.SpanContext().SpanID(), " ", span.SpanContext().TraceID())
}
