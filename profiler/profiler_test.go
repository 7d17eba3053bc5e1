// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler_test

import (
	"context"
	"errors"
	"math"
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
		{"no kind", profiler.WithKinds(), `"heap" "wall"`},
		{"unknown kind", profiler.WithKinds(exporter.KindCPU, "gpu"), `unknown kind "gpu": use some of ["heap" "wall"`},
		{"wall budget of nothing", profiler.WithWallBudget(0), "share of one core"},
		{"wall budget of more than a core", profiler.WithWallBudget(1.01), "share of one core"},
		{"wall budget that is no number", profiler.WithWallBudget(math.NaN()), "share of one core"},
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
	t.Setenv("SPANPROF_DISABLED", "true")
	p, _ := start(t)
	want := profiler.Status{
		Disabled: true,
		Kinds:    []exporter.Kind{exporter.KindCPU, exporter.KindHeap},
		CPU:      "disabled by the environment",
		Lanes:    recorded(0),
	}
	if diff := cmp.Diff(want, p.Status()); diff != "" {
		t.Errorf("Status (-want +got):\n%s", diff)
	}
	flush(t, p)
	if err := p.Profile(t.Context(), new(strings.Builder), exporter.KindCPU, time.Second); !errors.Is(err, profiler.ErrNotMeasured) {
		t.Errorf("Profile: %v, want ErrNotMeasured", err)
	}
}

func TestOptionsAreCopied(t *testing.T) {
	kinds := []exporter.Kind{exporter.KindHeap, exporter.KindHeap}
	opt := profiler.WithKinds(kinds...)
	kinds[0] = "wall"
	p, _ := start(t, nil, opt, profiler.WithResource(resource.Empty()))
	p.Status().Kinds[0] = "wall"
	if diff := cmp.Diff([]exporter.Kind{exporter.KindHeap}, p.Status().Kinds); diff != "" {
		t.Errorf("Kinds (-want +got):\n%s", diff)
	}
}

func TestLife(t *testing.T) {
	p, rec := start(t, profiler.WithKinds(exporter.KindHeap), profiler.WithWindow(endless))
	flush(t, p)
	if !p.Status().Running {
		t.Error("Running is false after New")
	}
	shutdown(t, p)
	if got := len(rec.Profiles()); got != 2 {
		t.Errorf("%d profiles, want 2: of Flush and of Shutdown", got)
	}
	want := profiler.Status{Kinds: []exporter.Kind{exporter.KindHeap}, Windows: 2, Lanes: recorded(2)}
	if diff := cmp.Diff(want, p.Status(), cmpopts.IgnoreFields(exporter.Status{}, "LastSuccess")); diff != "" {
		t.Errorf("Status (-want +got):\n%s", diff)
	}
}

// The ends are exact in synctest.
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
		ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		second := make(chan error, 1)
		time.AfterFunc(time.Second/2, func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			second <- p.Shutdown(ctx)
		})
		begin := time.Now()
		err = p.Shutdown(ctx)
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("Shutdown took %v, want 2 s", took)
		}
		if err := <-second; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second Shutdown: %v, want the end of its own context", err)
		}
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "3 profile(s) not exported") {
			t.Errorf("Shutdown: %v, want DeadlineExceeded and 3 profiles", err)
		}
		if err := <-flushed; !errors.Is(err, exporter.ErrShutdown) {
			t.Errorf("Flush during Shutdown: %v, want ErrShutdown", err)
		}
		want := profiler.Status{Windows: 3, Lanes: []exporter.Status{{Name: "profiler_test.hanging", Taken: 3, Lost: map[string]uint64{"unsent": 3}}}}
		if diff := cmp.Diff(want, p.Status(), cmpopts.IgnoreFields(profiler.Status{}, "Kinds")); diff != "" {
			t.Errorf("Status (-want +got):\n%s", diff)
		}
		close(release)
		synctest.Wait()
	})
}

// hanging is an exporter that ignores its context and blocks until the channel is closed.
type hanging chan struct{}

func (h hanging) Export(context.Context, *exporter.Profile) error { <-h; return nil }
func (hanging) ForceFlush(context.Context) error                  { return nil }
func (hanging) Shutdown(context.Context) error                    { return nil }
