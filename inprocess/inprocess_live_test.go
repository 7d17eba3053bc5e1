// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package inprocess_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof"
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

// windowsOf returns the number of windows of a kind that the store has.
func windowsOf(t *testing.T, p *inprocess.Profiling, kind exporter.Kind) int {
	t.Helper()
	view, err := p.Store().View(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	windows, err := view.Windows()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, w := range windows {
		if w.Kind == kind {
			n++
		}
	}
	return n
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
		"given otherwise":  {[]inprocess.Option{inprocess.WithProfilerOptions(profiler.WithResource(resource.Empty()))}, []string{"", ""}},
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

func TestTracerProviderShutDownFirst(t *testing.T) {
	livetest.Doubling(t, 100*time.Millisecond, func(d time.Duration) string {
		tp, res := newTracerProvider(t)
		p, err := inprocess.Start(tp, inprocess.WithProfilerOptions(profiler.WithResource(res)))
		if err != nil {
			t.Fatal(err)
		}
		_, root := tp.Tracer("test").Start(t.Context(), "last words")
		work(d)
		root.End()
		if err := tp.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		s, ok := spanOf(t, p, root.SpanContext().SpanID().String())
		if !ok || s.Name != "last words" {
			t.Fatalf("span lost: %+v", s)
		}
		return livetest.Few(s.CPUSamples, 1, "samples")
	})
}

func TestWithoutOpenTelemetry(t *testing.T) {
	var none *spanprof.TracerProvider // as a variable that was not set
	p, err := inprocess.Start(none)
	if err != nil {
		t.Fatal(err)
	}
	flush := func() {
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s := untilSampled(t, p, flush, func(d time.Duration) string {
		pprof.Do(t.Context(), pprof.Labels("profile_id", "order/1", "span_name", "ship"), func(context.Context) { work(d) })
		return "order/1"
	})
	if !s.Manual || s.Name != "ship" {
		t.Errorf("exemplar %+v", s)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// What is measured can be chosen, and the page shows the state.
func TestKinds(t *testing.T) {
	tp, res := newTracerProvider(t)
	p, err := inprocess.Start(tp, inprocess.WithProfilerOptions(profiler.WithResource(res), profiler.WithKinds(exporter.KindCPU, exporter.KindWall)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, root := tp.Tracer("test").Start(t.Context(), "wait")
	defer root.End()
	livetest.Doubling(t, 100*time.Millisecond, func(d time.Duration) string {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		return livetest.Few(int64(windowsOf(t, p, exporter.KindWall)), 1, "windows of wall time")
	})
	if n := windowsOf(t, p, exporter.KindHeap); n != 0 {
		t.Errorf("heap was measured: %d windows", n)
	}
	r := httptest.NewRequest(http.MethodGet, "http://localhost/log?format=text", http.NoBody)
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, r)
	for _, want := range []string{"wall rounds: ", "CPU profiles of others, and stops by others: 0", "store: waiting: "} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%q is not in\n%s", want, w.Body)
		}
	}
	if !regexp.MustCompile(`CPU for wall samples: [0-9.]+ (ns|µs|ms|s)\n`).MatchString(w.Body.String()) {
		t.Errorf("the CPU for wall samples is no duration in\n%s", w.Body)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestExporterBesideTheStore(t *testing.T) {
	rec := new(exportertest.Recorder)
	p, err := inprocess.Start(nil, inprocess.WithExporter(rec), inprocess.WithExporter(nil),
		inprocess.WithProfilerOptions(profiler.WithKinds(exporter.KindGoroutine, exporter.KindHeap), profiler.WithWindow(time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	var kinds []exporter.Kind
	for _, pushed := range rec.Profiles() {
		kinds = append(kinds, pushed.Kind())
	}
	slices.Sort(kinds)
	if diff := cmp.Diff([]exporter.Kind{exporter.KindGoroutine, exporter.KindHeap}, kinds); diff != "" {
		t.Errorf("exported (-want +got):\n%s", diff)
	}
	if got := p.Store().Stats().WindowsReceived; got != 2 {
		t.Errorf("the store has %d windows, want 2", got)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := rec.ForceFlush(t.Context()); !errors.Is(err, exporter.ErrShutdown) {
		t.Errorf("ForceFlush of the exporter: %v, want ErrShutdown", err)
	}
}

// The choice of spans to keep is the store's, and leaves the others counted.
func TestSpansToKeep(t *testing.T) {
	for name, test := range map[string]struct {
		option  inprocess.Option
		notKept int64
	}{
		"all":      {nil, 0},
		"sampling": {inprocess.WithStoreOptions(store.WithSampling(0)), 1},
	} {
		t.Run(name, func(t *testing.T) {
			tp, res := newTracerProvider(t)
			p, err := inprocess.Start(tp, inprocess.WithProfilerOptions(profiler.WithResource(res)), test.option)
			if err != nil {
				t.Fatal(err)
			}
			_, span := tp.Tracer("test").Start(t.Context(), "checkout")
			span.End()
			if got := p.Store().Stats(); got.SpansEnded != 1 || got.SpansNotKept != test.notKept {
				t.Errorf("%d spans ended, %d not kept, want 1 and %d", got.SpansEnded, got.SpansNotKept, test.notKept)
			}
			if err := p.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
