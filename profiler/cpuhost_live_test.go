// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/pprof"
	"slices"
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

// hostile is how long a test plays at least against a program that uses the CPU profiler.
const hostile = 2 * time.Second

// owned is the destination of a profile of the program. A Write before its owner
// calls StopCPUProfile means that other code has ended it.
type owned struct {
	stopping, ended atomic.Bool
}

func (o *owned) Write(b []byte) (int, error) {
	if !o.stopping.Load() {
		o.ended.Store(true)
	}
	return len(b), nil
}

// rates are the default and, if the runtime allows others, one of them. The build tag
// spanprof_public selects one way to read samples for both.
func rates() []int {
	if goruntime.Unknown() == nil {
		return []int{100, 97}
	}
	return []int{100}
}

// A program starts and stops profiles of its own, and sometimes ours, while ours
// comes and goes. We end no profile of the program.
func TestForeignProfilesAreNeverEnded(t *testing.T) {
	for _, hz := range rates() {
		for _, careless := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d Hz, careless %t", hz, careless), func(t *testing.T) {
				// On a slow machine the program may get no profile in a short time.
				livetest.Doubling(t, hostile, func(d time.Duration) string {
					return livetest.Few(int64(testForeign(t, hz, careless, d)), 1, "profiles of the program")
				})
			})
		}
	}
}

// testForeign plays for d and returns how many profiles the program had.
func testForeign(t *testing.T, hz int, careless bool, d time.Duration) (profiles int) {
	p, _ := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithCPURate(hz), profiler.WithWindow(100*time.Millisecond))
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var wg sync.WaitGroup
	var ended int
	wg.Go(func() {
		for ctx.Err() == nil {
			theirs := new(owned)
			err := pprof.StartCPUProfile(theirs)
			<-time.After(rand.N(4 * time.Millisecond))
			if err != nil && !careless {
				continue
			}
			theirs.stopping.Store(true)
			pprof.StopCPUProfile() // whosever it is, where the program is careless
			if err == nil {
				profiles++
			}
			if theirs.ended.Load() {
				ended++
			}
		}
	})
	for _, call := range []func(){
		func() { _ = p.Disable(ctx, exporter.KindCPU) },
		func() { _ = p.Enable(ctx, exporter.KindCPU) },
		func() { _ = p.Flush(ctx) },
		func() { _ = p.Profile(ctx, io.Discard, exporter.KindCPU, time.Millisecond) },
	} {
		wg.Go(func() {
			for ctx.Err() == nil {
				call()
				<-time.After(rand.N(3 * time.Millisecond))
			}
		})
	}
	wg.Wait()
	shutdown(t, p)
	if ended > 0 {
		t.Errorf("of %d profiles of the program %d were ended by us", profiles, ended)
	}
	free(t)
	reported.take("cpu profile")
	return profiles
}

// A stuck writer blocks a profile of the program. The windows of other kinds go on,
// and Shutdown exports them.
func TestOtherKindsDuringASlowStop(t *testing.T) {
	theirs := stuckWriter{writing: make(chan struct{}), release: make(chan struct{})}
	if err := pprof.StartCPUProfile(theirs); err != nil {
		t.Fatal(err)
	}
	p, rec := launch(t, 2*time.Second, profiler.WithKinds(exporter.KindCPU, exporter.KindHeap), profiler.WithWindow(100*time.Millisecond))
	var stopped sync.WaitGroup
	stopped.Go(pprof.StopCPUProfile)
	<-theirs.writing
	until(t, func() bool {
		return p.Status().CPU == "waiting until another CPU profile of this process has been written"
	})
	before := len(rec.Profiles())
	if _, err := rec.Wait(t.Context(), before+5); err != nil {
		t.Fatal(err)
	}
	before = len(rec.Profiles())
	shutdown(t, p)
	after := rec.Profiles()
	if len(after) <= before {
		t.Errorf("%d windows, and %d before Shutdown: the last one is missing", len(after), before)
	}
	if slices.Contains(kinds(rec), exporter.KindCPU) {
		t.Errorf("windows of %q while another CPU profile is running", kinds(rec))
	}
	close(theirs.release)
	stopped.Wait()
	free(t)
	reported.take("cpu profile")
}

// A Flush that begins meanwhile returns when the CPU window has been closed too.
func TestFlushDuringASlowStop(t *testing.T) {
	release := stopSlowly(t)
	p, rec := launch(t, 2*time.Second, profiler.WithKinds(exporter.KindCPU, exporter.KindHeap), profiler.WithWindow(endless))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	if err := p.Flush(ctx); err == nil {
		t.Error("Flush has returned before the CPU window was closed")
	}
	until(t, func() bool { return len(kinds(rec)) > 0 })
	if got := kinds(rec); !slices.Equal(got, []exporter.Kind{exporter.KindHeap}) {
		t.Errorf("windows of %q, want heap", got)
	}
	flushed := make(chan error)
	go func() { flushed <- p.Flush(t.Context()) }()
	release()
	if err := <-flushed; err != nil {
		t.Error(err)
	}
	if got := kinds(rec); !slices.Contains(got, exporter.KindCPU) {
		t.Errorf("windows of %q, want CPU among them", got)
	}
	parsed(t, last(t, rec))
}

// Shutdown closes what can be closed at once before the CPU, which may take long: a context
// that ends meanwhile loses no other window.
func TestShutdownDuringASlowCPU(t *testing.T) {
	knownRuntime(t)
	release := make(chan struct{})
	rec := new(exportertest.Recorder)
	p, err := profiler.New(rec, profiler.WithKinds(exporter.KindCPU, exporter.KindHeap, exporter.KindGoroutine), profiler.WithWindow(endless))
	if err != nil {
		t.Fatal(err)
	}
	p.SetPatience(endless)
	p.SetReader(func() ([]uint64, []*goruntime.LabelSet, bool) {
		records, labels, eof := goruntime.ReadCPUProfile()
		if eof {
			<-release
		}
		return records, labels, eof
	})
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if err := p.Opened(t.Context()); err != nil {
		t.Fatal(err)
	}
	shut := make(chan error)
	go func() { shut <- p.Shutdown(t.Context()) }()
	until(t, func() bool { return len(kinds(rec)) == 2 })
	if got := kinds(rec); slices.Contains(got, exporter.KindCPU) {
		t.Errorf("windows of %q, want all but the CPU's", got)
	}
	close(release)
	if err := <-shut; err != nil {
		t.Error(err)
	}
	if got := kinds(rec); len(got) != 3 {
		t.Errorf("windows of %q, want the CPU's too", got)
	}
}
