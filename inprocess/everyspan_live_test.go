// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package inprocess_test

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/inprocess"
	"github.com/spanprof/spanprof/internal/spanlabels"
)

// The page needs no attribute on spans, in neither scope. Spans have no more attributes than
// the program's own then.
func TestWithoutAttribute(t *testing.T) {
	for name, options := range map[string][]spanprof.Option{
		"root scope": {spanprof.WithoutProfileIDAttribute()},
		"all spans":  {spanprof.WithoutProfileIDAttribute(), spanprof.WithRootSpanOnly(false)},
	} {
		t.Run(name, func(t *testing.T) {
			defer spanlabels.Counts.EverySpan.Store(false) // of the whole process
			spansWithoutAttribute(t, len(options) > 1, options)
		})
	}
}

func spansWithoutAttribute(t *testing.T, every bool, options []spanprof.Option) {
	ended := tracetest.NewSpanRecorder()
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(ended)), options...)
	p, err := inprocess.Start(tp)
	if err != nil {
		t.Fatal(err)
	}
	ctx, root := tp.Tracer("test").Start(t.Context(), "root")
	_, child := tp.Tracer("test").Start(ctx, "child")
	child.End()
	root.End()
	if err := p.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	for _, span := range ended.Ended() {
		if len(span.Attributes()) > 0 {
			t.Errorf("%s has attributes %v", span.Name(), span.Attributes())
		}
		kept, ok := spanOf(t, p, span.SpanContext().SpanID().String())
		if want := every || span.Name() == "root"; ok != want || ok && kept.Name != span.Name() {
			t.Errorf("%s: kept %t as %q, want %t", span.Name(), ok, kept.Name, want)
		}
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
