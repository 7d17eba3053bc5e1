// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/profiler"
)

func TestCPUSamplesCarryLabels(t *testing.T) {
	res := resource.NewSchemaless(attribute.String("service.name", "shop"))
	p, rec := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless), profiler.WithResource(res))
	doubling(t, func(d time.Duration) bool {
		burn("labels", d)
		unlabelled(d)
		flush(t, p)
		return burned(parsed(t, last(t, rec)), "labels")
	})
	got := last(t, rec)
	if got.Kind() != exporter.KindCPU || got.Resource() != res {
		t.Errorf("kind %q of %v, want %q of %v", got.Kind(), got.Resource(), exporter.KindCPU, res)
	}
	for _, s := range parsed(t, got).Sample {
		if len(s.Label) > 0 && hasFunction(s, "unlabelled") {
			t.Errorf("sample of a goroutine without labels has %v", s.Label)
		}
	}
}

func TestCPUWindowsFollowEachOther(t *testing.T) {
	_, rec := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(100*time.Millisecond))
	got, err := rec.Wait(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range got[1:] {
		if p.Start().Before(got[i].End()) {
			t.Errorf("window %d starts at %v, before the end of the last at %v", i+1, p.Start(), got[i].End())
		}
		if p.Duration() <= 0 {
			t.Errorf("window %d took %v", i+1, p.Duration())
		}
		parsed(t, p) // with or without samples, it is a profile
	}
}

func TestCPUShutdownExportsTheLastWindow(t *testing.T) {
	p, rec := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless))
	burn("last", 50*time.Millisecond)
	shutdown(t, p)
	if got := len(rec.Profiles()); got != 1 {
		t.Fatalf("%d profiles, want 1", got)
	}
	parsed(t, last(t, rec))
	startForeign(t).stop(t) // the CPU profiler is free again
	if got := p.Status(); got.CPU != "stopped" || !got.CPUStart.IsZero() || !got.CPUEnd.IsZero() || got.Running {
		t.Errorf("Status() = %+v, want one that is stopped", got)
	}
}

func TestCPUProgramIsRefused(t *testing.T) {
	p, rec := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless))
	if err := pprof.StartCPUProfile(io.Discard); err == nil {
		t.Error("StartCPUProfile succeeded while a window was open")
	}
	flush(t, p)
	parsed(t, last(t, rec))
	if got := p.Status(); got.Lanes[0].Exported != 1 || got.WindowsSkipped != 0 || got.CPU != "profiling" {
		t.Errorf("Status() = %+v", got)
	}
	if errs := reported.take("cpu profile"); len(errs) != 0 {
		t.Errorf("reported %v", errs)
	}
}

func TestCPUSkipsWhileTheProgramProfiles(t *testing.T) {
	doubling(t, func(d time.Duration) bool {
		theirs := startForeign(t)
		// By chance the first end could be in a moment, and count.
		p, rec := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless), profiler.WithFirstEnd())
		const waiting = "another CPU profile is running in this process; waiting for it to end"
		if got := p.Status(); got.CPU != waiting || !got.CPUStart.IsZero() || !got.CPUEnd.IsZero() {
			t.Errorf("Status() = %+v, want %q and no open window", got, waiting)
		}
		flush(t, p)
		flush(t, p)
		burn("theirs", d)
		sampled := burned(theirs.stop(t), "theirs")
		if got := len(rec.Profiles()); got != 0 {
			t.Errorf("%d windows exported, want 0", got)
		}

		flush(t, p) // begins a window, unless one has begun by itself
		if got := p.Status(); got.CPU != "profiling" || got.CPUStart.IsZero() || !got.CPUEnd.After(got.CPUStart) {
			t.Errorf("Status() = %+v, want an open window", got)
		}
		flush(t, p)
		parsed(t, last(t, rec))
		if got := p.Status(); got.WindowsSkipped != 0 || got.Lanes[0].Exported == 0 {
			t.Errorf("%d windows skipped and %d exported, want 0 in such a short time, and some", got.WindowsSkipped, got.Lanes[0].Exported)
		}
		shutdown(t, p)
		if errs := reported.take("cpu profile"); len(errs) != 1 || !strings.Contains(errs[0].Error(), "another one is running") {
			t.Errorf("reported %v, want once that another profile is running", errs)
		}
		return sampled
	})
}

// While a CPU profile of the program runs, the clock alone decides how many
// windows are lost. The program's profile is started outside of the bubble, in
// which the profiler can then only be refused.
func TestCPUSkippedWindowsAreThoseOfTheSchedule(t *testing.T) {
	theirs := startForeign(t)
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		p, _ := start(t, profiler.WithKinds(exporter.KindCPU, exporter.KindHeap), profiler.WithWindow(10*time.Second), profiler.WithFirstEnd())
		for _, step := range []struct {
			at      time.Duration
			flush   bool
			skipped uint64
		}{
			{1 * time.Second, true, 0},
			{2 * time.Second, true, 0},
			{11 * time.Second, false, 1},
			{12 * time.Second, true, 1},
			{21 * time.Second, false, 2},
			{29500 * time.Millisecond, true, 2}, // so near to the end at 30 s that it is passed over
			{41 * time.Second, false, 4},
			{45 * time.Second, true, 4},
		} {
			<-time.After(time.Until(begin.Add(step.at)))
			if step.flush {
				flush(t, p)
			}
			if got := p.Status().WindowsSkipped; got != step.skipped {
				t.Errorf("%d windows skipped after %v, want %d", got, step.at, step.skipped)
			}
		}
		shutdown(t, p)
		if got := p.Status().WindowsSkipped; got != 4 {
			t.Errorf("%d windows skipped after Shutdown, want 4", got)
		}
	})
	theirs.stop(t)
	reported.take("cpu profile")
}

// The program's profile goes to a client that does not read. All of
// runtime/pprof waits for it, and Start does not.
func TestStartDuringASlowStop(t *testing.T) {
	release := stopSlowly(t)
	p, rec := launch(t, longest, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless))
	until(t, func() bool { return p.Status().CPU != "stopped" }) // where Start was faster than the loop
	want := profiler.Status{
		Running:   true,
		Profilers: 1,

		Kinds:   []exporter.Kind{exporter.KindCPU},
		Window:  endless,
		CPU:     "waiting until another CPU profile of this process has been written",
		CPURate: 100,
		Lanes:   recorded(0),

		CPUFallback: fallback(t, p),
	}
	if diff := cmp.Diff(want, p.Status()); diff != "" {
		t.Errorf("Status (-want +got):\n%s", diff)
	}

	release()
	flush(t, p)
	parsed(t, last(t, rec))
	if got := p.Status(); got.CPU != "profiling" || got.Lanes[0].Exported != 1 {
		t.Errorf("Status() = %+v, want that it profiles", got)
	}
}

// Shutdown gives up before the first window could open: it does not stay open,
// whether the profiler still waits for it or has left it to itself.
func TestShutdownDuringASlowStop(t *testing.T) {
	for _, test := range []struct {
		name     string
		patience time.Duration
		ctx      context.Context
		want     error
		dropped  uint64 // the window comes after Shutdown, and is counted
	}{
		{"waiting", endless, ended(), context.Canceled, 1},
		{"no longer waiting", time.Millisecond, t.Context(), nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			release := stopSlowly(t)
			rec := new(exportertest.Recorder)
			p, err := profiler.New(rec, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless))
			if err != nil {
				t.Fatal(err)
			}
			p.SetPatience(test.patience)
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			err = p.Shutdown(test.ctx)
			if !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), "1 window(s) not closed in time") {
				t.Errorf("Shutdown: %v, want %v and the window that was not closed", err, test.want)
			}

			release()
			free(t)
			if got := p.Status(); lost(got.Lanes[0]) != test.dropped || len(rec.Profiles()) != 0 {
				t.Errorf("%d windows dropped and %d exported after Shutdown, want %d and none", lost(got.Lanes[0]), len(rec.Profiles()), test.dropped)
			}
		})
	}
}

// stopSlowly stops a profile of the program. The stop goes on until the function
// that it returns is called.
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
type stuckWriter struct {
	writing, release chan struct{}
}

func (w stuckWriter) Write(b []byte) (int, error) {
	select {
	case <-w.release:
	default:
		close(w.writing)
		<-w.release
	}
	return len(b), nil
}

// The program stops a profile that is not its own, and starts one.
func TestCPUForeignStopThenStart(t *testing.T) {
	doubling(t, func(d time.Duration) bool {
		p, rec := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless))
		burn("before", d)
		pprof.StopCPUProfile()
		stopped := time.Now()
		status := p.Status()
		theirs := new(foreign)
		if err := pprof.StartCPUProfile(theirs); err != nil {
			shutdown(t, p)
			reported.take("cpu profile")
			return false // the machine is slow: we have the profiler back
		}
		if !strings.Contains(status.CPU, "has stopped the CPU profile") || !status.CPUStart.IsZero() {
			t.Errorf("Status() = %+v, want that it was stopped", status)
		}

		flush(t, p)
		ours := last(t, rec)
		if ours.End().After(stopped) {
			t.Errorf("the short window ends at %v, want until %v", ours.End(), stopped)
		}

		burn("theirs", d)
		flush(t, p)
		shutdown(t, p)
		if errs := fmt.Sprint(reported.take("cpu profile")); strings.Count(errs, "has stopped it") != 1 || strings.Count(errs, "another one is running") != 1 {
			t.Errorf("reported %v, want the stop and the other profile", errs)
		}
		if err := pprof.StartCPUProfile(io.Discard); err == nil {
			t.Fatal("the program's profile was ended")
		}
		if got := lane(p).Exported; got != 1 {
			t.Errorf("%d windows exported, want 1", got)
		}
		return burned(theirs.stop(t), "theirs") && burned(parsed(t, ours), "before")
	})
}

// The program stops a profile that is not its own, and starts none: once is an
// accident, twice within a minute is a purpose.
func TestCPUForeignStop(t *testing.T) {
	p, rec := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless))
	for n, test := range []struct{ report, status string }{
		{"has a gap", "profiling"},
		{"is not profiled for 1m0s", "something else in this process stops the CPU profile again and again; trying again later"},
	} {
		pprof.StopCPUProfile()
		flush(t, p)
		if got := len(rec.Profiles()); got != n+1 {
			t.Fatalf("%d profiles, want %d", got, n+1)
		}
		parsed(t, last(t, rec))
		reported.wait(t, "cpu profile")
		if errs := reported.take("cpu profile"); len(errs) != 1 || !strings.Contains(errs[0].Error(), test.report) {
			t.Errorf("reported %v, want %q", errs, test.report)
		}
		if got := p.Status(); got.CPU != test.status || got.CPUForeignStops != uint64(n+1) {
			t.Errorf("Status() = %+v, want %q after %d foreign stops", got, test.status, n+1)
		}
	}
	flush(t, p)
	startForeign(t).stop(t) // it is left alone
	if got := p.Status(); got.Lanes[0].Exported != 2 || !got.CPUStart.IsZero() || !got.CPUEnd.IsZero() {
		t.Errorf("Status() = %+v, want that no window is open", got)
	}
	shutdown(t, p)
	if got := len(rec.Profiles()); got != 2 {
		t.Errorf("%d profiles, want 2", got)
	}
}

// A stop that nobody tells us of is noticed, and the profiler taken back, in the
// middle of a window: its profile is that of both parts.
func TestCPUIsTakenBack(t *testing.T) {
	doubling(t, func(d time.Duration) bool {
		p, rec := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless))
		begin := p.Status().CPUStart
		burn("before", d)
		pprof.StopCPUProfile()
		reported.wait(t, "has stopped it")
		until(t, func() bool { return p.Status().CPU == "profiling" })
		if got := p.Status(); !got.CPUStart.Equal(begin) || got.CPUForeignStops != 1 {
			t.Errorf("Status() = %+v, want the window that began at %v and a foreign stop", got, begin)
		}
		burn("after", d)
		shutdown(t, p)
		reported.take("cpu profile")
		all := rec.Profiles()
		if len(all) != 1 {
			t.Fatalf("%d profiles, want 1", len(all))
		}
		both := parsed(t, all[0])
		if all[0].Duration() <= time.Duration(both.DurationNanos) {
			t.Errorf("the window took %v, of which %v were measured", all[0].Duration(), time.Duration(both.DurationNanos))
		}
		return burned(both, "before") && burned(both, "after")
	})
}

// When another profile ends, ours begins without a Flush or the window's end.
func TestCPUTakesOver(t *testing.T) {
	theirs := startForeign(t)
	p, rec := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless))
	theirs.stop(t)
	until(t, func() bool { return p.Status().CPU == "profiling" })
	shutdown(t, p)
	parsed(t, last(t, rec))
	if errs := reported.take("cpu profile"); len(errs) != 1 {
		t.Errorf("reported %v, want once that another profile is running", errs)
	}
}

// The program stops, starts and stops while windows end: whatever the order,
// every window is a whole profile and the profiler is free in the end.
func TestCPUForeignRaces(t *testing.T) {
	p, rec := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(100*time.Millisecond))
	for range 10 {
		flushed := make(chan error, 1)
		go func() { flushed <- p.Flush(t.Context()) }()
		pprof.StopCPUProfile()
		if err := pprof.StartCPUProfile(io.Discard); err == nil {
			pprof.StopCPUProfile()
		} // else a window has begun in between
		if err := <-flushed; err != nil {
			t.Error(err)
		}
	}
	shutdown(t, p)
	all := rec.Profiles()
	for i, w := range all {
		parsed(t, w)
		if i > 0 && w.Start().Before(all[i-1].End()) {
			t.Errorf("window %d starts at %v, before the end of the last at %v", i, w.Start(), all[i-1].End())
		}
	}
	startForeign(t).stop(t)
	reported.take("cpu profile")
}

func TestProfilerHasNoLabels(t *testing.T) {
	const key = "profiler_test_label"
	pprof.SetGoroutineLabels(pprof.WithLabels(t.Context(), pprof.Labels(key, "x")))
	p, _ := start(t, profiler.WithWindow(endless))
	flush(t, p)
	pprof.SetGoroutineLabels(t.Context())
	until(t, profiling)
	var all strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil { // which has labels
		t.Fatal(err)
	}
	if strings.Contains(all.String(), key) {
		t.Errorf("a goroutine has kept the labels of Start's caller:\n%s", &all)
	}
}
