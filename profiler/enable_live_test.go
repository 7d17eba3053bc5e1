// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler"
)

func TestEnableAndDisable(t *testing.T) {
	p, rec := start(t, profiler.WithKinds(exporter.KindHeap), profiler.WithWindow(endless))
	enable := func(k exporter.Kind) {
		t.Helper()
		if err := p.Enable(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	disable := func(k exporter.Kind) {
		t.Helper()
		if err := p.Disable(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	enable(exporter.KindCPU)
	enable(exporter.KindCPU)
	enable(exporter.KindGoroutine)
	if got := p.Status(); got.CPU != "profiling" || len(got.Kinds) != 3 {
		t.Errorf("Status() = %+v, want three kinds", got)
	}
	flush(t, p)
	disable(exporter.KindCPU)
	disable(exporter.KindCPU)
	disable(exporter.KindHeap)
	startForeign(t).stop(t) // nobody uses the CPU profiler
	if got := p.Status(); got.CPU != "" || !got.CPUStart.IsZero() || len(got.Kinds) != 1 {
		t.Errorf("Status() = %+v, want goroutines alone", got)
	}
	disable(exporter.KindGoroutine)
	flush(t, p)
	enable(exporter.KindCPU)
	shutdown(t, p)
	want := []exporter.Kind{"heap", "goroutine", "cpu", "cpu", "heap", "goroutine", "cpu"}
	if diff := cmp.Diff(want, kinds(rec)); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
	for _, f := range []func(context.Context, exporter.Kind) error{p.Enable, p.Disable} {
		if err := f(t.Context(), exporter.KindHeap); !errors.Is(err, profiler.ErrShutdown) {
			t.Errorf("after Shutdown: %v, want ErrShutdown", err)
		}
		if err := f(t.Context(), "gpu"); !errors.Is(err, profiler.ErrUnknownKind) {
			t.Errorf("of gpu: %v, want ErrUnknownKind", err)
		}
	}
}

// Goroutines are counted with their labels, at the end of the window.
func TestGoroutinesCarryLabels(t *testing.T) {
	p, rec := start(t, profiler.WithKinds(exporter.KindGoroutine), profiler.WithWindow(endless))
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 7 {
		wg.Go(func() { labelled("waiting", func() { <-stop }) })
	}
	until(t, func() bool {
		flush(t, p)
		return counts(parsed(t, last(t, rec)))["waiting"] == 7
	})
	close(stop)
	wg.Wait()
	if got := last(t, rec); got.Kind() != exporter.KindGoroutine || got.Duration() != 0 {
		t.Errorf("%v of %q, want a snapshot", got.Duration(), got.Kind())
	}
}

// The runtime counts while it is asked to, and not afterwards.
func TestMutexAndBlock(t *testing.T) {
	before := runtime.SetMutexProfileFraction(77)
	defer runtime.SetMutexProfileFraction(before)
	p, rec := start(t, profiler.WithKinds(exporter.KindMutex, exporter.KindBlock), profiler.WithWindow(endless),
		profiler.WithMutexFraction(1), profiler.WithBlockRate(1))
	newest := func() (mutex, block *profile.Profile) {
		flush(t, p)
		all := rec.Profiles()
		return parsed(t, all[len(all)-2]), parsed(t, all[len(all)-1])
	}
	doubling(t, func(d time.Duration) bool {
		contend(d)
		mutex, block := newest()
		return counted(mutex, "contend.func1") > 0 && counted(block, "contend") > 0
	})
	// What has been counted once is not counted again.
	if mutex, block := newest(); counted(mutex, "contend.func1")+counted(block, "contend") != 0 {
		t.Errorf("counted twice:\n%v\n%v", mutex, block)
	}

	shutdown(t, p)
	if got := runtime.SetMutexProfileFraction(-1); got != 77 {
		t.Errorf("the mutex fraction is %d, want 77 as before", got)
	}
}

// contend holds a mutex for d while another goroutine wants it, unless the machine
// is too slow for that one to come within d.
//
//go:noinline
func contend(d time.Duration) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	held := make(chan struct{})
	wg.Go(func() {
		mu.Lock()
		close(held)
		<-time.After(d)
		mu.Unlock()
	})
	<-held
	mu.Lock()
	mu.Unlock() //nolint:staticcheck // waiting is all
	wg.Wait()
}

// counted sums the first value of the samples with a function.
func counted(p *profile.Profile, function string) int64 {
	var sum int64
	for _, s := range p.Sample {
		if hasFunction(s, function) {
			sum += s.Value[0]
		}
	}
	return sum
}
