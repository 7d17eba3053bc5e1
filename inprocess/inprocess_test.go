// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/inprocess"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/leaktest"
	"github.com/spanprof/spanprof/internal/report/reporttest"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// children are the programs that tests start from this executable. The key is a variable of
// the environment, and its value the argument.
var children = map[string]func(argument string){}

func TestMain(m *testing.M) {
	for variable, run := range children {
		if argument := os.Getenv(variable); argument != "" {
			run(argument)
			return
		}
	}
	os.Exit(leaktest.Run(m))
}

func newTracerProvider() (*spanprof.TracerProvider, *resource.Resource) {
	res := resource.NewSchemaless(attribute.String("service.name", "shop"))
	return spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithResource(res))), res
}

// The page Running now has the goroutines of open spans. Before Go 1.27 the page of leaks names
// what is needed.
func TestPageOfRunningSpans(t *testing.T) {
	tp, _ := newTracerProvider()
	p, err := inprocess.Start(tp, inprocess.WithProfilerOptions(profiler.WithKinds(exporter.KindGoroutine)),
		inprocess.WithViewerOptions(viewer.WithAllowedHosts("debug.example.com")))
	if err != nil {
		t.Fatal(err)
	}
	_, span := tp.Tracer("test").Start(t.Context(), "GET /orders")
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://debug.example.com/running?format=text", http.NoBody))
	for _, want := range []string{"\nGET /orders  1 goroutine  ", span.SpanContext().SpanID().String(), ".TestPageOfRunningSpans  inprocess_test.go:"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%q is not in\n%s", want, w.Body)
		}
	}
	w = httptest.NewRecorder()
	p.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://debug.example.com/leaks", http.NoBody))
	if has := pprof.Lookup("goroutineleak") != nil; strings.Contains(w.Body.String(), "Go 1.27") == has {
		t.Errorf("the runtime has leaks: %t, the page of them has\n%s", has, w.Body)
	}
	span.End()
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// failing is an exporter that refuses each profile.
type failing struct{}

func (failing) Export(context.Context, *exporter.Profile) error { return errors.New("refused") }
func (failing) ForceFlush(context.Context) error                { return nil }
func (failing) Shutdown(context.Context) error                  { return nil }

// The page has the counters of exporters, of wall time, of the directory and of AddCounters.
func TestCounters(t *testing.T) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	p, err := inprocess.Start(nil, inprocess.WithExporter(failing{}), inprocess.WithStoreOptions(store.WithDirectory(t.TempDir(), 8<<20)),
		inprocess.WithProfilerOptions(profiler.WithKinds(exporter.KindGoroutine, exporter.KindWall), profiler.WithWindow(time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	p.AddCounters(func(yield func(string, uint64) bool) { yield("agent: messages", 42) })
	if err := p.Flush(t.Context()); err == nil {
		t.Error("Flush returns nil")
	}
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/log?format=text", http.NoBody))
	for _, want := range []string{"store: exported: ", "inprocess_test.failing: failed: ", "wall rounds: ", "directory: files written: ", "agent: messages: 42\n"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%q is not in\n%s", want, w.Body)
		}
	}
	_ = p.Shutdown(t.Context()) // it counts more losses
}

func TestExporterIsShutDownWhereStartFails(t *testing.T) {
	for want, wrong := range map[string]inprocess.Option{
		"window": inprocess.WithProfilerOptions(profiler.WithWindow(1)),
		"bytes":  inprocess.WithStoreOptions(store.WithMaxBytes(1)),
	} {
		t.Run(want, func(t *testing.T) {
			rec := new(exportertest.Recorder)
			if p, err := inprocess.Start(nil, inprocess.WithExporter(rec), wrong); err == nil || p != nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Start: %v, %v; want an error about %s", p, err, want)
			}
			if err := rec.ForceFlush(t.Context()); !errors.Is(err, exporter.ErrShutdown) {
				t.Errorf("ForceFlush of the exporter: %v, want ErrShutdown", err)
			}
		})
	}
}

// unreachable is an exporter without its destination.
type unreachable struct{ exportertest.Recorder }

func (*unreachable) ForceFlush(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// The page shows the store, and why the button took long.
func TestPageFlushDoesNotWaitForExporters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := inprocess.Start(nil, inprocess.WithExporter(new(unreachable)),
			inprocess.WithProfilerOptions(profiler.WithKinds(exporter.KindGoroutine), profiler.WithWindow(time.Hour)))
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

// Nothing starts under WithOptIn until the environment enables it.
func TestOptIn(t *testing.T) {
	for _, enabled := range []bool{false, true} {
		if enabled {
			t.Setenv("SPANPROF_ENABLED", "true")
		}
		directory := filepath.Join(t.TempDir(), "spans")
		tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider())
		p, err := inprocess.Start(tp, inprocess.WithOptIn(), inprocess.WithProfilerOptions(profiler.WithKinds(exporter.KindGoroutine)),
			inprocess.WithStoreOptions(store.WithDirectory(directory, 8<<20)))
		if err != nil {
			t.Fatal(err)
		}
		_, span := tp.Tracer("test").Start(t.Context(), "checkout")
		span.End()
		if _, err := os.Stat(directory); (err == nil) != enabled {
			t.Errorf("enabled %t: directory: %v", enabled, err)
		}
		s, kept := p.Profiler().Status(), p.Store().Stats().SpansEnded
		if s.Running != enabled || s.Disabled == enabled || (kept == 1) != enabled {
			t.Errorf("enabled %t: %d spans, status %+v", enabled, kept, s)
		}
		w := httptest.NewRecorder()
		p.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/log?format=text", http.NoBody))
		if strings.Contains(w.Body.String(), "Profiling is off: the program uses WithOptIn") == enabled {
			t.Errorf("enabled %t: the page shows\n%s", enabled, w.Body)
		}
		for range 2 {
			if err := p.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// Nil arguments count as none. A program that logs the error of Start and goes on has a nil
// Profiling.
func TestNil(t *testing.T) {
	reported := reporttest.Collect(t)
	for name, tp := range map[string]inprocess.TracerProvider{"nil": nil, "nil pointer": (*spanprof.TracerProvider)(nil)} {
		p, err := inprocess.Start(tp, nil, inprocess.WithExporter(nil), inprocess.WithExporter((*exportertest.Recorder)(nil)), goroutines)
		if err != nil {
			t.Fatal(err)
		}
		p.AddCounters(nil)
		if err := errors.Join(p.Flush(t.Context()), p.Shutdown(t.Context())); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all := strings.Join(reported(), "\n"); !strings.Contains(all, "provider is a nil *spanprof.TracerProvider") || strings.Count(all, "nil *exportertest.Recorder") != 2 {
		t.Errorf("reported %s", all)
	}
	var p *inprocess.Profiling
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	if err := errors.Join(p.Flush(t.Context()), p.WriteReport(w), p.Shutdown(t.Context())); err != nil || w.Code != http.StatusNotFound {
		t.Errorf("page %d, error %v", w.Code, err)
	}
}
