// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/profiler"
)

var cpuOnly = profiler.WithKinds(exporter.KindCPU)

// knownRuntime skips if runtime/pprof reads the samples.
func knownRuntime(t *testing.T) {
	t.Helper()
	if err := goruntime.Unknown(); err != nil {
		t.Skip(err)
	}
}

// bothWays are options for the two readers of samples.
func bothWays() map[string]profiler.Option {
	return map[string]profiler.Option{"log": nil, "runtime/pprof": profiler.WithPublicAPI()}
}

func TestProfileEnds(t *testing.T) {
	p, _ := start(t, cpuOnly, profiler.WithWindow(endless))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := p.Profile(ctx, io.Discard, exporter.KindCPU, endless); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Profile: %v, want DeadlineExceeded", err)
	}
	if err := p.Profile(t.Context(), io.Discard, exporter.KindHeap, time.Second); err == nil || !strings.Contains(err.Error(), `use "cpu" or "wall"`) {
		t.Errorf("Profile of heap: %v", err)
	}
	if err := p.Profile(t.Context(), io.Discard, exporter.KindWall, time.Second); !errors.Is(err, profiler.ErrNotMeasured) {
		t.Errorf("Profile of wall: %v", err)
	}
	ended := make(chan error)
	go func() { ended <- p.Profile(t.Context(), io.Discard, exporter.KindCPU, endless) }()
	<-time.After(50 * time.Millisecond)
	shutdown(t, p)
	if err := <-ended; err != nil {
		t.Errorf("Profile during Shutdown: %v, want a short profile", err)
	}
}

// A CPU profile of the program is never ended, and ours begins at the end of a window.
func TestCPUSkipsWhileTheProgramProfiles(t *testing.T) {
	for name, way := range bothWays() {
		t.Run(name, func(t *testing.T) {
			reported.take("")
			stopTheirs := startForeign(t)
			p, rec := start(t, cpuOnly, way, profiler.WithWindow(100*time.Millisecond))
			if err := p.Profile(t.Context(), io.Discard, exporter.KindCPU, time.Second); !errors.Is(err, profiler.ErrCPUInUse) {
				t.Errorf("Profile: %v, want ErrCPUInUse", err)
			}
			livetest.Until(t, func() bool { return p.Status().WindowsSkipped > 1 })
			if got := p.Status(); !strings.HasPrefix(got.CPU, "another CPU profile is running") || !got.CPUEnd.IsZero() || got.CPUForeign != 1 {
				t.Errorf("Status() = %+v, want one foreign profile", got)
			}
			stopTheirs()
			livetest.Until(t, func() bool { return len(rec.Profiles()) > 1 })
			if err := pprof.StartCPUProfile(io.Discard); err == nil {
				t.Error("the program has the CPU profiler while ours runs")
			}
			shutdown(t, p)
			startForeign(t)()
			if errs := reported.take("another one is running"); len(errs) != 1 {
				t.Errorf("reported %v, want one error", errs)
			}
		})
	}
}

// The program stops our profile, and starts its own or not.
func TestCPUForeignStop(t *testing.T) {
	for name, way := range bothWays() {
		t.Run(name, func(t *testing.T) {
			doubling(t, func(d time.Duration) bool {
				reported.take("")
				p, rec := start(t, cpuOnly, way, profiler.WithWindow(endless))
				burn("before", d)
				pprof.StopCPUProfile()
				stopped := time.Now()
				stopTheirs := startForeign(t) // nothing has the profiler
				reported.wait(t, "has stopped it")
				if got := p.Status(); !strings.Contains(got.CPU, "has stopped the CPU profile") || got.CPUForeign != 1 || !got.CPUEnd.IsZero() {
					t.Errorf("Status() = %+v, want one stop", got)
				}
				burn("theirs", d)
				flush(t, p) // tries, and skips
				ours := last(t, rec)
				if ours.End().After(stopped) {
					t.Errorf("the short window ends at %v, want until %v", ours.End(), stopped)
				}
				seen := burned(stopTheirs(), "theirs") && burned(parsed(t, ours), "before")
				flush(t, p)
				burn("after", d)
				shutdown(t, p)
				if errs := fmt.Sprint(reported.take("cpu profile")); strings.Count(errs, "has stopped it") != 1 || strings.Count(errs, "another one is running") != 1 {
					t.Errorf("reported %v, want the stop and the other profile", errs)
				}
				return seen && burned(parsed(t, last(t, rec)), "after")
			})
		})
	}
}

// owned is the destination of a profile of the program. A Write before its owner calls
// StopCPUProfile means that other code has ended it.
type owned struct{ stopping, ended atomic.Bool }

func (o *owned) Write(b []byte) (int, error) {
	if !o.stopping.Load() {
		o.ended.Store(true)
	}
	return len(b), nil
}

// A program starts and stops profiles of its own, and sometimes ours. Its profiles are not ended
// by us, and StopCPUProfile does not hang.
func TestForeignProfilesAreNeverEnded(t *testing.T) {
	for name, way := range bothWays() {
		for _, careless := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, careless %t", name, careless), func(t *testing.T) {
				livetest.Doubling(t, 2*time.Second, func(d time.Duration) string {
					return livetest.Few(int64(testForeign(t, way, careless, d)), 1, "profiles of the program")
				})
			})
		}
	}
}

func testForeign(t *testing.T, way profiler.Option, careless bool, d time.Duration) (profiles int) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var wg sync.WaitGroup
	ended := 0
	wg.Go(func() {
		for ctx.Err() == nil {
			theirs := new(owned)
			err := pprof.StartCPUProfile(theirs)
			<-time.After(rand.N(4 * time.Millisecond))
			if err != nil && !careless {
				continue
			}
			theirs.stopping.Store(true)
			pprof.StopCPUProfile() // may be ours
			if err == nil {
				profiles++
			}
			if theirs.ended.Load() {
				ended++
			}
		}
	})
	for ctx.Err() == nil {
		p, _ := start(t, cpuOnly, way, profiler.WithWindow(100*time.Millisecond))
		for range 20 {
			_ = p.Flush(ctx)
			_ = p.Profile(ctx, io.Discard, exporter.KindCPU, time.Millisecond)
			<-time.After(rand.N(3 * time.Millisecond))
		}
		shutdown(t, p)
	}
	wg.Wait()
	if ended > 0 {
		t.Errorf("of %d profiles of the program %d were ended by us", profiles, ended)
	}
	free(t)
	reported.take("cpu profile")
	return profiles
}

// stopSlowly stops a profile of the program. The stop continues until release is called.
func stopSlowly(t *testing.T) (release func()) {
	t.Helper()
	w := stuckWriter{writing: make(chan struct{}), release: make(chan struct{})}
	if err := pprof.StartCPUProfile(w); err != nil {
		t.Fatal(err)
	}
	var stopped sync.WaitGroup
	stopped.Go(pprof.StopCPUProfile)
	<-w.writing
	return func() { close(w.release); stopped.Wait() }
}

// stuckWriter closes writing at its first Write and returns after release.
type stuckWriter struct{ writing, release chan struct{} }

func (w stuckWriter) Write(b []byte) (int, error) {
	select {
	case <-w.release:
	default:
		close(w.writing)
		<-w.release
	}
	return len(b), nil
}

// A profile of the program is stopped, and its writer is stuck. New returns, the windows of
// other kinds go on, a Flush waits, and then the CPU is profiled.
func TestSlowStop(t *testing.T) {
	release := stopSlowly(t)
	rec := new(exportertest.Recorder)
	p, err := profiler.New(rec, profiler.WithPatience(500*time.Millisecond), profiler.WithKinds(exporter.KindCPU, exporter.KindHeap), profiler.WithWindow(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	livetest.Until(t, func() bool { return len(rec.Profiles()) > 2 })
	if got := p.Status(); !strings.HasPrefix(got.CPU, "waiting until another CPU profile") {
		t.Errorf("Status() = %+v", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := p.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Flush: %v, want DeadlineExceeded", err)
	}
	release()
	flush(t, p)
	livetest.Until(t, func() bool { return strings.HasPrefix(p.Status().CPU, "profiling") })
	shutdown(t, p)
	free(t)
}

func TestProfilerHasNoLabels(t *testing.T) {
	const key = "profiler_test_label"
	pprof.SetGoroutineLabels(pprof.WithLabels(t.Context(), pprof.Labels(key, "x")))
	p, _ := start(t, profiler.WithWindow(endless))
	flush(t, p)
	pprof.SetGoroutineLabels(t.Context())
	livetest.Until(t, profiling)
	var all strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(all.String(), key) {
		t.Errorf("a goroutine has the labels of New's caller:\n%s", &all)
	}
}
