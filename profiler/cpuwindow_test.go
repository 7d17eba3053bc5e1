// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"io"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"

	"github.com/spanprof/spanprof/profiler/internal/cpulog"
	"github.com/spanprof/spanprof/profiler/internal/goruntime"
)

//go:noinline
func recurse(depth int, f func()) {
	if depth == 0 {
		f()
		return
	}
	recurse(depth-1, f)
}

// Somebody stops our profile after the measurement of runtime/pprof has been ended
// and before ours has begun, or just after. Either way his call returns, the run
// is over and the profiler is free.
func TestStopWhileTheLogIsTakenOver(t *testing.T) {
	if !goruntime.Known() {
		t.Skip("the internals of this Go version are not known")
	}
	// Many goroutines among which to look for him.
	release := make(chan struct{})
	var waiting sync.WaitGroup
	for range 5000 {
		waiting.Go(func() { recurse(50, func() { <-release }) })
	}
	defer waiting.Wait()
	defer close(release)
	for range 4 {
		told := make(chan struct{}, 1)
		w := &cpuWindow{log: cpulog.New(100), stopped: told}
		if err := pprof.StartCPUProfile(w); err != nil {
			t.Fatal(err)
		}
		returned := make(chan struct{})
		runtime.SetCPUProfileRate(0)
		go func() {
			pprof.StopCPUProfile()
			close(returned)
		}()
		<-w.log.Reading()
		w.confirm()
		<-returned
		<-told
		if w.running() || !w.complete() {
			t.Error("the run goes on")
		}
		if err := pprof.StartCPUProfile(io.Discard); err != nil {
			t.Fatal(err)
		}
		pprof.StopCPUProfile()
	}
}
