// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package inprocess_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/inprocess"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/store"
)

// spanOf returns a span that the store has.
func spanOf(t *testing.T, p *inprocess.Profiling, id string) (store.Span, bool) {
	t.Helper()
	view, err := p.Store().View(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	s, ok, err := spanIn(view, id)
	if err != nil {
		t.Fatal(err)
	}
	return s, ok
}

// untilSampled runs f for longer and longer, until the store has a CPU sample. Its profile has
// the id that f returns.
func untilSampled(t *testing.T, p *inprocess.Profiling, settle func(), f func(time.Duration) string) store.Span {
	t.Helper()
	var s store.Span
	livetest.Doubling(t, 100*time.Millisecond, func(d time.Duration) string {
		id := f(d)
		settle()
		s, _ = spanOf(t, p, id)
		return livetest.Few(s.CPUSamples, 1, "samples")
	})
	return s
}

func TestSpansHaveProfiles(t *testing.T) {
	tp, res := newTracerProvider(t)
	p, err := inprocess.Start(tp, inprocess.WithProfilerOptions(profiler.WithResource(res), profiler.WithWindow(time.Minute)))
	if err != nil {
		t.Fatal(err)
	}
	flush := func() {
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s := untilSampled(t, p, flush, func(d time.Duration) string {
		ctx, root := tp.Tracer("test").Start(t.Context(), "checkout")
		defer root.End()
		_, child := tp.Tracer("test").Start(ctx, "pay")
		defer child.End()
		work(d)
		return root.SpanContext().SpanID().String()
	})
	if s.Name != "checkout" || s.Service != "shop" || !s.LocalRoot || !s.Complete {
		t.Errorf("span %+v", s)
	}
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error("second Shutdown:", err)
	}
	if got, ok := spanOf(t, p, s.ProfileID); !ok || got.CPU != s.CPU {
		t.Errorf("after Shutdown: %+v, want %+v", got, s)
	}
}

// Without WithResource profiles have the service of the spans, once there is a span.
func TestProfilesTakeTheResourceOfSpans(t *testing.T) {
	tp, res := newTracerProvider(t)
	for name, test := range map[string]struct {
		opts []inprocess.Option
		want []string
	}{
		"by default":       {nil, []string{resource.Default().String(), res.String()}},
		"another is given": {[]inprocess.Option{inprocess.WithProfilerOptions(profiler.WithResource(resource.Empty()))}, []string{"", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			rec := new(exportertest.Recorder)
			p, err := inprocess.Start(tp, append(test.opts, inprocess.WithExporter(rec), inprocess.WithProfilerOptions(profiler.WithKinds(exporter.KindHeap), profiler.WithWindow(time.Hour)))...)
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
