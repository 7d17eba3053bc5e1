// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/exportertest"
	"github.com/spanprof/spanprof/inprocess"
	"github.com/spanprof/spanprof/internal/leaktest"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/store"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(mistakeVariable); name != "" {
		makeMistake(name)
		return
	}
	if dir := os.Getenv(directoryVariable); dir != "" {
		serveUntilKilled(dir)
	}
	os.Exit(leaktest.Run(m))
}

// work uses about d of CPU time, however long that takes where other programs use the CPU
// too: what samples it gets does not depend on them.
func work(d time.Duration) {
	data := make([]byte, hashed)
	for range max(1, int(d/hashTime())) {
		data[0] = sha256.Sum256(data)[0]
	}
}

// hashed is how many bytes work hashes at a time.
const hashed = 64 << 10

// hashTime is the CPU time that work takes for that. Of some times the shortest is the one in
// which nothing else ran.
var hashTime = sync.OnceValue(func() time.Duration {
	data := make([]byte, hashed)
	least := time.Second
	for range 50 {
		begin := time.Now()
		data[0] = sha256.Sum256(data)[0]
		least = min(least, time.Since(begin))
	}
	return max(time.Microsecond, least)
})

func newTracerProvider(t *testing.T) (*spanprof.TracerProvider, *resource.Resource) {
	t.Helper()
	return providerOf()
}

func providerOf() (*spanprof.TracerProvider, *resource.Resource) {
	res := resource.NewSchemaless(attribute.String("service.name", "shop"))
	return spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithResource(res))), res
}

// spanOf returns a span that the store has.
func spanOf(t *testing.T, p *inprocess.Profiling, id string) (store.Span, bool) {
	t.Helper()
	view, err := p.Store().View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	s, ok, err := view.Span(id)
	if err != nil {
		t.Fatal(err)
	}
	return s, ok
}

// windowsOf returns the number of windows of a kind that the store has.
func windowsOf(t *testing.T, p *inprocess.Profiling, kind exporter.Kind) int {
	t.Helper()
	view, err := p.Store().View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	windows, err := view.Windows(store.WindowQuery{Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	return len(windows)
}

// untilSampled runs f for longer and longer, until a CPU sample of the profile
// with the id that f returns is in the store.
func untilSampled(t *testing.T, p *inprocess.Profiling, settle func(), f func(time.Duration) string) store.Span {
	t.Helper()
	for d := 100 * time.Millisecond; d < 10*time.Second; d *= 2 {
		id := f(d)
		settle()
		if s, ok := spanOf(t, p, id); ok && s.CPUSamples > 0 {
			return s
		}
	}
	t.Fatal("no samples")
	return store.Span{}
}

func TestSpansHaveProfiles(t *testing.T) {
	tp, res := newTracerProvider(t)
	p, err := inprocess.Start(tp, inprocess.WithResource(res), inprocess.WithWindow(time.Minute))
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

// Without WithResource profiles are those of the spans' service, once there is a span.
func TestProfilesTakeTheResourceOfSpans(t *testing.T) {
	tp, res := newTracerProvider(t)
	for name, test := range map[string]struct {
		opts []inprocess.Option
		want []string
	}{
		"by default":       {nil, []string{resource.Default().String(), res.String()}},
		"another is given": {[]inprocess.Option{inprocess.WithResource(resource.Empty())}, []string{"", ""}},
		"given otherwise":  {[]inprocess.Option{inprocess.WithProfilerOptions(profiler.WithResource(resource.Empty()))}, []string{"", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			rec := new(exportertest.Recorder)
			p, err := inprocess.Start(tp, append(test.opts, inprocess.WithExporter(rec), inprocess.WithKinds(exporter.KindHeap), inprocess.WithWindow(time.Hour))...)
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
	for d := 100 * time.Millisecond; ; d *= 2 {
		tp, res := newTracerProvider(t)
		p, err := inprocess.Start(tp, inprocess.WithResource(res))
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
		if s.CPUSamples > 0 {
			return
		}
		if d > 5*time.Second {
			t.Fatal("no samples")
		}
	}
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

// The page answers, and tells what the profiler is doing.
func TestHandler(t *testing.T) {
	tp, res := newTracerProvider(t)
	p, err := inprocess.Start(tp, inprocess.WithResource(res), inprocess.WithAllowedHosts("debug.example.com"))
	if err != nil {
		t.Fatal(err)
	}
	status := func() (s struct {
		Running bool
		Message string
	},
	) {
		r := httptest.NewRequest(http.MethodGet, "http://debug.example.com/debug/spanprof/?format=json", http.NoBody)
		w := httptest.NewRecorder()
		p.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		var v struct{ Status any }
		v.Status = &s
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := status(); !s.Running || (s.Message != "") != tp.PublicLabelsOnly() {
		t.Errorf("status while running: %+v", s)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if s := status(); s.Running {
		t.Errorf("status after Shutdown: %+v", s)
	}
}

// What is measured can be chosen, and the page tells how it goes.
func TestKinds(t *testing.T) {
	tp, res := newTracerProvider(t)
	p, err := inprocess.Start(tp, inprocess.WithResource(res), inprocess.WithKinds(exporter.KindCPU, exporter.KindWall))
	if err != nil {
		t.Fatal(err)
	}
	ctx, root := tp.Tracer("test").Start(t.Context(), "wait")
	defer root.End()
	for d := 100 * time.Millisecond; windowsOf(t, p, exporter.KindWall) == 0; d *= 2 {
		if d > 10*time.Second {
			t.Fatal("no wall profile")
		}
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := windowsOf(t, p, exporter.KindHeap); n != 0 {
		t.Errorf("heap was measured: %d windows", n)
	}
	r := httptest.NewRequest(http.MethodGet, "http://localhost/log?format=text", http.NoBody)
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, r)
	for _, want := range []string{"wall rounds: ", "CPU profiles stopped by others: 0", "CPU samples dropped: 0", "store: waiting: "} {
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

// The page says what it cannot show, and why.
func TestPageWithoutCPU(t *testing.T) {
	p, err := inprocess.Start(nil, inprocess.WithKinds(exporter.KindGoroutine))
	if err != nil {
		t.Fatal(err)
	}
	page := func() string {
		w := httptest.NewRecorder()
		p.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/?format=text&query=.cpu", http.NoBody))
		return strings.Join(strings.Fields(w.Body.String()), " ")
	}
	if got := page(); !strings.Contains(got, "CPU time is not among the kinds that are measured") {
		t.Error(got)
	}
	if err := p.Profiler().Disable(t.Context(), exporter.KindGoroutine); err != nil {
		t.Error(err)
	}
	if got := page(); !strings.Contains(got, "Nothing is measured") {
		t.Error(got)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// The page says so where the public API alone labels goroutines.
func TestPageOfPublicLabels(t *testing.T) {
	for public, options := range map[bool][]spanprof.Option{true: {spanprof.WithPublicLabelsOnly()}, false: nil} {
		tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(), options...)
		p, err := inprocess.Start(tp, inprocess.WithKinds(exporter.KindHeap, exporter.KindCPU))
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		p.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/?format=text", http.NoBody))
		want := public || tp.PublicLabelsOnly() // by the build tag
		if page := strings.Join(strings.Fields(w.Body.String()), " "); strings.Contains(page, "labelled by runtime/pprof's public API alone") != want {
			t.Errorf("want a note: %t; the page:\n%s", want, page)
		}
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestExporterBesideTheStore(t *testing.T) {
	rec := new(exportertest.Recorder)
	p, err := inprocess.Start(nil, inprocess.WithExporter(rec), inprocess.WithExporter(nil),
		inprocess.WithKinds(exporter.KindGoroutine), inprocess.WithProfilerOptions(profiler.WithWindow(time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Profiler().Enable(t.Context(), exporter.KindHeap); err != nil {
		t.Error(err)
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

func TestExporterIsShutDownWhereStartFails(t *testing.T) {
	for name, wrong := range map[string]inprocess.Option{
		"profiler": inprocess.WithWindow(1),
		"store":    inprocess.WithMaxBytes(1),
	} {
		t.Run(name, func(t *testing.T) {
			rec := new(exportertest.Recorder)
			if p, err := inprocess.Start(nil, inprocess.WithExporter(rec), wrong); err == nil || p != nil {
				t.Errorf("Start: %v, %v; want an error", p, err)
			}
			if err := rec.ForceFlush(t.Context()); !errors.Is(err, exporter.ErrShutdown) {
				t.Errorf("ForceFlush of the exporter: %v, want ErrShutdown", err)
			}
		})
	}
}

// A Start that fails does not wait for an exporter that cannot deliver what it has.
func TestStartFailsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if _, err := inprocess.Start(nil, inprocess.WithExporter(new(undelivered)), inprocess.WithWindow(1)); err == nil || !strings.Contains(err.Error(), "window") {
			t.Errorf("Start: %v, want an error about the window", err)
		}
		if d := time.Since(begin); d > 10*time.Second {
			t.Errorf("Start failed after %v", d)
		}
	})
}

// undelivered is an exporter that goes on trying to deliver what it has until its time
// is over.
type undelivered struct{ exportertest.Recorder }

func (*undelivered) Shutdown(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// unreachable is an exporter whose destination is away.
type unreachable struct{ exportertest.Recorder }

func (*unreachable) ForceFlush(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// The page shows what the store has, and says why the button took long.
func TestPageFlushDoesNotWaitForExporters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := inprocess.Start(nil, inprocess.WithExporter(new(unreachable)),
			inprocess.WithKinds(exporter.KindGoroutine), inprocess.WithWindow(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		p.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost/flush", http.NoBody))
		if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "an exporter") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if got := p.Store().Stats().WindowsReceived; got != 1 {
			t.Errorf("the store has %d windows, want 1", got)
		}
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestDisabled(t *testing.T) {
	t.Setenv("SPANPROF_DISABLED", "true")
	tp, res := newTracerProvider(t)
	p, err := inprocess.Start(tp, inprocess.WithResource(res))
	if err != nil {
		t.Fatal(err)
	}
	_, span := tp.Tracer("test").Start(t.Context(), "checkout")
	span.End()
	if err := p.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	if s := p.Store().Stats(); s.SpansEnded != 0 || s.WindowsReceived != 0 {
		t.Errorf("stats %+v", s)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// The choice of spans to keep is the store's, and leaves the others counted.
func TestSpansToKeep(t *testing.T) {
	for name, test := range map[string]struct {
		option  inprocess.Option
		notKept int64
	}{
		"all":          {inprocess.WithSpansPerName(0), 0},
		"min duration": {inprocess.WithMinDuration(time.Hour), 1},
		"sampling":     {inprocess.WithSampling(0), 1},
	} {
		t.Run(name, func(t *testing.T) {
			tp, res := newTracerProvider(t)
			p, err := inprocess.Start(tp, inprocess.WithResource(res), test.option)
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

func TestBadOptions(t *testing.T) {
	for want, option := range map[string]inprocess.Option{
		"window":   inprocess.WithWindow(time.Millisecond),
		"resource": inprocess.WithResource(nil),
		"bytes":    inprocess.WithMaxBytes(1),

		"WithMinDuration(-1s)": inprocess.WithMinDuration(-time.Second),
		"WithSampling(2)":      inprocess.WithSampling(2),
		"WithSpansPerName(-1)": inprocess.WithSpansPerName(-1),
	} {
		p, err := inprocess.Start(nil, option)
		if err == nil || p != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Start: %v, %v; want an error about %s", p, err, want)
		}
	}
}

func TestNilOption(t *testing.T) {
	p, err := inprocess.Start(nil, nil, inprocess.WithMaxBytes(2<<20), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Store().Stats().MaxBytes; got != 2<<20 {
		t.Errorf("the store has %d bytes, want 2 MiB", got)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
