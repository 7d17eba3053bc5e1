// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/profiler"
)

func TestNewRefuses(t *testing.T) {
	for _, test := range []struct {
		name string
		opt  profiler.Option
		want string
	}{
		{"short window", profiler.WithWindow(99 * time.Millisecond), "use at least 100ms"},
		{"negative window", profiler.WithWindow(-time.Second), "use at least 100ms"},
		{"no resource", profiler.WithResource(nil), "leave WithResource out"},
		{"no kind", profiler.WithKinds(), `"cpu" "heap"`},
		{"unknown kind", profiler.WithKinds(exporter.KindCPU, "gpu"), `wrong kind: "gpu": use some of ["cpu" "heap"`},
		{"cpu rate of nothing", profiler.WithCPURate(0), "use 1 to 200"},
		{"cpu rate beyond what systems can do", profiler.WithCPURate(201), "use 1 to 200"},
		{"mutex fraction of nothing", profiler.WithMutexFraction(0), "leave WithMutexFraction out"},
		{"block rate of nothing", profiler.WithBlockRate(0), "leave WithBlockRate out"},
		{"no meter provider", profiler.WithMeterProvider(nil), "leave WithMeterProvider out"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := profiler.New(new(exportertest.Recorder), test.opt); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("New: %v, want an error with %q", err, test.want)
			}
		})
	}
	if _, err := profiler.New(nil); err == nil {
		t.Error("New(nil) returned no error")
	}
}

func TestDefaults(t *testing.T) {
	p, err := profiler.New(new(exportertest.Recorder))
	if err != nil {
		t.Fatal(err)
	}
	want := profiler.Status{
		NotStarted: true,

		Kinds:  []exporter.Kind{exporter.KindCPU, exporter.KindHeap},
		Window: 10 * time.Second,
		CPU:    "stopped",

		CPURate: 100,
		Lanes:   recorded(0),

		CPUFallback: fallback(t, p),
	}
	if diff := cmp.Diff(want, p.Status()); diff != "" {
		t.Errorf("Status (-want +got):\n%s", diff)
	}
}

func TestOptionsAreCopied(t *testing.T) {
	kinds := []exporter.Kind{exporter.KindHeap, exporter.KindHeap}
	opt := profiler.WithKinds(kinds...)
	kinds[0] = "wall"
	p, err := profiler.New(new(exportertest.Recorder), opt, profiler.WithResource(resource.Empty()))
	if err != nil {
		t.Fatal(err)
	}
	p.Status().Kinds[0] = "wall"
	if diff := cmp.Diff([]exporter.Kind{exporter.KindHeap}, p.Status().Kinds); diff != "" {
		t.Errorf("Kinds (-want +got):\n%s", diff)
	}
}

func TestNilOptionsAreSkipped(t *testing.T) {
	p, err := profiler.New(new(exportertest.Recorder), nil, profiler.WithWindow(time.Minute), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Status().Window; got != time.Minute {
		t.Errorf("window of %v, want one minute", got)
	}
}

func TestLife(t *testing.T) {
	p, rec := start(t, profiler.WithKinds(exporter.KindHeap), profiler.WithWindow(endless))
	if err := p.Start(); err != nil {
		t.Errorf("second Start: %v", err)
	}
	flush(t, p)
	if !p.Status().Running {
		t.Error("Running is false after Start")
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Errorf("second Shutdown: %v", err)
	}
	if err := p.Start(); !errors.Is(err, profiler.ErrShutdown) {
		t.Errorf("Start after Shutdown: %v", err)
	}
	if err := p.Flush(t.Context()); !errors.Is(err, profiler.ErrShutdown) {
		t.Errorf("Flush after Shutdown: %v", err)
	}
	if got := len(rec.Profiles()); got != 2 {
		t.Errorf("%d profiles, want 2: of Flush and of Shutdown", got)
	}
	want := profiler.Status{Kinds: []exporter.Kind{exporter.KindHeap}, Window: endless, Windows: 2, Lanes: recorded(2)}
	if diff := cmp.Diff(want, p.Status(), cmpopts.IgnoreFields(exporter.Status{}, "LastSuccess")); diff != "" {
		t.Errorf("Status (-want +got):\n%s", diff)
	}
}

func TestShutdownWithoutStart(t *testing.T) {
	rec := new(exportertest.Recorder)
	p, err := profiler.New(rec)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Flush(t.Context()); !errors.Is(err, profiler.ErrNotStarted) {
		t.Errorf("Flush before Start: %v", err)
	}
	shutdown(t, p)
	if err := rec.ForceFlush(t.Context()); !errors.Is(err, exporter.ErrShutdown) {
		t.Error("the exporter was not shut down")
	}
	if err := p.Start(); !errors.Is(err, profiler.ErrShutdown) {
		t.Errorf("Start after Shutdown: %v", err)
	}
}

// Heap windows need no wall clock: here the ends are exact.
func TestWindowsEndOnTheGrid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		p, rec := start(t, profiler.WithKinds(exporter.KindHeap), profiler.WithWindow(10*time.Second), profiler.WithFirstEnd())
		after := func(d time.Duration) { <-time.After(time.Until(begin.Add(d))) }
		after(13 * time.Second)
		flush(t, p)
		after(39500 * time.Millisecond)
		flush(t, p) // so near to the end at 40 s that the next window goes on to 50 s
		after(55 * time.Second)
		shutdown(t, p)

		var ends []time.Duration
		for _, w := range rec.Profiles() {
			ends = append(ends, w.End().Sub(begin))
		}
		want := []time.Duration{
			10 * time.Second, 13 * time.Second, 20 * time.Second, 30 * time.Second,
			39500 * time.Millisecond, 50 * time.Second, 55 * time.Second,
		}
		if diff := cmp.Diff(want, ends); diff != "" {
			t.Errorf("ends (-want +got):\n%s", diff)
		}
	})
}

func TestFlushEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p, err := profiler.New(hanging(release), profiler.WithKinds(exporter.KindHeap))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Flush: %v, want DeadlineExceeded", err)
		}
		if got := lane(p).Waiting; got != 1 {
			t.Errorf("%d windows waiting, want 1", got)
		}

		// Flush is called while the loop is idle and Shutdown comes in between.
		flushed := make(chan error, 1)
		go func() { flushed <- p.Flush(t.Context()) }()
		synctest.Wait()
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err = p.Shutdown(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "3 profile(s) not exported") {
			t.Errorf("Shutdown: %v, want DeadlineExceeded and 3 profiles", err)
		}
		if err := <-flushed; !errors.Is(err, profiler.ErrShutdown) {
			t.Errorf("Flush during Shutdown: %v, want ErrShutdown", err)
		}
		want := profiler.Status{Windows: 3, Lanes: []exporter.Status{{Name: "profiler_test.hanging", Taken: 3, Lost: map[string]uint64{"unsent": 3}}}}
		if diff := cmp.Diff(want, p.Status(), cmpopts.IgnoreFields(profiler.Status{}, "Kinds", "Window")); diff != "" {
			t.Errorf("Status (-want +got):\n%s", diff)
		}
		close(release)
		synctest.Wait()
	})
}

// hanging is an exporter whose Export ignores its context and returns when the
// channel is closed.
type hanging chan struct{}

func (h hanging) Export(context.Context, *exporter.Profile) error { <-h; return nil }
func (hanging) ForceFlush(context.Context) error                  { return nil }
func (hanging) Shutdown(context.Context) error                    { return nil }

var errRefused = errors.New("refused")
