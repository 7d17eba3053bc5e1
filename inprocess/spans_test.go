// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/inprocess"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/spanlabels"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/store"
)

// goroutines measures what needs no real samples, in windows that only a Flush ends.
var goroutines = inprocess.WithProfilerOptions(profiler.WithKinds(exporter.KindGoroutine), profiler.WithWindow(time.Hour))

// The page needs no attribute on spans, in neither scope. Spans have no more attributes than
// the program's own then.
func TestWithoutAttribute(t *testing.T) {
	for name, options := range map[string][]spanprof.Option{
		"root scope": {spanprof.WithoutProfileIDAttribute()},
		"all spans":  {spanprof.WithoutProfileIDAttribute(), spanprof.WithRootSpanOnly(false)},
	} {
		t.Run(name, func(t *testing.T) {
			defer spanlabels.Counts.EverySpan.Store(false) // of the whole process
			ended := tracetest.NewSpanRecorder()
			tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(ended)), options...)
			p, err := inprocess.Start(tp, goroutines)
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
			view, err := p.Store().View(t.Context(), time.Time{}, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			defer view.Close()
			for _, span := range ended.Ended() {
				if len(span.Attributes()) > 0 {
					t.Errorf("%s has attributes %v", span.Name(), span.Attributes())
				}
				kept, err := view.Spans(store.SpanQuery{ID: span.SpanContext().SpanID().String()})
				if want := len(options) > 1 || span.Name() == "root"; err != nil || (len(kept.Spans) == 1) != want {
					t.Errorf("%s: kept %+v, %v, want %t", span.Name(), kept.Spans, err, want)
				}
			}
			if err := p.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Without WithResource profiles have the service of the spans, once there is a span.
func TestProfilesTakeTheResourceOfSpans(t *testing.T) {
	tp, res := newTracerProvider()
	for name, test := range map[string]struct {
		opts []inprocess.Option
		want []string
	}{
		"by default":       {nil, []string{resource.Default().String(), res.String()}},
		"another is given": {[]inprocess.Option{inprocess.WithProfilerOptions(profiler.WithResource(resource.Empty()))}, []string{"", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			rec := new(exportertest.Recorder)
			p, err := inprocess.Start(tp, append(test.opts, inprocess.WithExporter(rec), goroutines)...)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := p.Flush(t.Context()); err != nil {
					t.Error(err)
				}
				_, span := tp.Tracer("test").Start(t.Context(), "GET /")
				span.End()
			}
			var got []string
			for _, profile := range rec.Profiles() {
				got = append(got, profile.Resource().String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if err := p.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
