// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/profiler/internal/cpulog"
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
	if goruntime.Unknown() != nil {
		t.Skip(goruntime.Unknown())
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
		w := &cpuWindow{log: cpulog.New(100, goruntime.ReadCPUProfile), stopped: told}
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

// The program sets a rate in the gap between two pieces: the samples come at that
// rate, and weigh what they stand for.
func TestForeignRateInTheGap(t *testing.T) {
	if goruntime.Unknown() != nil {
		t.Skip(goruntime.Unknown())
	}
	const inner = "SPANPROF_TEST_GAP"
	if os.Getenv(inner) == "" { // for the runtime's warning on stderr
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestForeignRateInTheGap$") //nolint:gosec // this program
		command.Env = append(os.Environ(), inner+"=1")
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	w := &cpuWindow{log: cpulog.New(97, goruntime.ReadCPUProfile)}
	if err := pprof.StartCPUProfile(writerFunc(func(b []byte) (int, error) {
		if !w.read.Load() {
			runtime.SetCPUProfileRate(500)
		}
		return w.Write(b)
	})); err != nil {
		t.Fatal(err)
	}
	runtime.SetCPUProfileRate(0)
	<-w.log.Reading()
	for _, hz := range []int64{500, 97} { // the next piece is at our rate again
		piece, _, err := w.cut(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := piece.Parsed()
		if err != nil {
			t.Fatal(err)
		}
		if want := int64(time.Second) / hz; got.Period != want {
			t.Errorf("a period of %d, want %d", got.Period, want)
		}
	}
	halt(w)
	if w.running() || !w.complete() {
		t.Error("the run goes on")
	}
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Fatal(err)
	}
	pprof.StopCPUProfile()
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
