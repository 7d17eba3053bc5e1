// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/profiler"
)

// What it costs a program that stops our profile, at any moment of its life and most
// often when it begins, and then takes one of its own: next to nothing, whether we read the
// samples or runtime/pprof does. The runtime prints nothing on stderr, StopCPUProfile
// returns, its profile begins, and has samples.
//
// SPANPROF_TRIALS sets how many there are. The times are in the log.
func TestWhatAProgramPays(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and about costs")
	}
	const inner = "SPANPROF_TEST_PAYS"
	if os.Getenv(inner) == "" {
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWhatAProgramPays$", "-test.v", "-test.timeout=0") //nolint:gosec // this program
		command.Env = append(os.Environ(), inner+"=1")
		var stdout, stderr strings.Builder
		command.Stdout, command.Stderr = &stdout, &stderr
		if err := command.Run(); err != nil || stderr.Len() > 0 {
			t.Errorf("%v\non stderr:\n%s", err, &stderr)
		}
		t.Log(stdout.String())
		return
	}
	trials, enough := 100, 20
	if s := os.Getenv("SPANPROF_TRIALS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		trials, enough = n, n
	}
	for name, opts := range map[string][]profiler.Option{
		"100 Hz":        nil,
		"97 Hz":         {profiler.WithCPURate(97)},
		"100 Hz public": {profiler.WithUnknownRuntime(errors.New("unknown"))},
		"alone":         {profiler.WithKinds(exporter.KindHeap)},

		"100 Hz, running":        nil,
		"100 Hz public, running": {profiler.WithUnknownRuntime(errors.New("unknown"))},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "97") {
				knownRuntime(t)
			}
			var paid payment
			begin := time.Now()
			done := 0
			for ; done < trials && (done < enough || time.Since(begin) < 7*time.Second); done++ { // fewer on a slow machine
				paid.trial(t, strings.HasSuffix(name, "running"), opts)
			}
			slices.Sort(paid.stops)
			at := func(share float64) time.Duration { return paid.stops[int(share*float64(len(paid.stops)-1))] }
			t.Logf("%d trials: StopCPUProfile took %v, 99 in 100 up to %v, at most %v; %d profiles refused, %d empty",
				done, at(0.5), at(0.99), at(1), paid.refused, paid.empty)
			if paid.refused > 0 && !strings.Contains(name, "public") || paid.empty > 1+done/100 {
				t.Errorf("%d profiles of the program were refused, and %d are empty", paid.refused, paid.empty)
			}
			reported.take("cpu profile")
		})
	}
}

// spin takes d.
func spin(d time.Duration) {
	for begin := time.Now(); time.Since(begin) < d; {
	}
}

// burnThread takes d of CPU time.
func burnThread(d time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func() time.Duration {
		var r unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_THREAD, &r); err != nil {
			panic(err)
		}
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	for begin := used(); used()-begin < d; {
		burning(time.Millisecond)
	}
}

// payment is what the trials of a program have cost it.
type payment struct {
	stops          []time.Duration
	refused, empty int
}

func (paid *payment) trial(t *testing.T, running bool, opts []profiler.Option) {
	p, err := profiler.New(new(exportertest.Recorder), append([]profiler.Option{profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	go func() {
		defer close(begun)
		if err := p.Start(); err != nil {
			t.Error(err)
		}
	}()
	if running {
		// While the reader is between two looks, or sleeps.
		<-begun
		if err := p.Opened(t.Context()); err != nil {
			t.Fatal(err)
		}
		burning(rand.N(40 * time.Millisecond))
	}
	// Again and again, until a call has stopped something: if it has just begun, at the
	// first moment when that can be.
	spin(rand.N(time.Millisecond))
	for first := time.Now(); ; spin(rand.N(20 * time.Microsecond)) {
		begin := time.Now()
		pprof.StopCPUProfile()
		if took := time.Since(begin); took > 20*time.Microsecond || time.Since(first) > 20*time.Millisecond {
			paid.stops = append(paid.stops, took)
			break
		}
	}
	var b bytes.Buffer
	if err := pprof.StartCPUProfile(&b); err != nil {
		// Ours had not begun when it was to be stopped, as a rule.
		if !startsLater(p) {
			paid.refused++
		}
	} else {
		burnThread(30 * time.Millisecond)
		pprof.StopCPUProfile()
		if got, err := profile.Parse(&b); err != nil || len(got.Sample) == 0 {
			paid.empty++
		}
	}
	<-begun
	shutdown(t, p)
}

// startsLater reports whether a profile of p is on, or begins later.
func startsLater(p *profiler.Profiler) bool {
	for d, waited := time.Millisecond, time.Duration(0); p.Status().CPU != "profiling"; d *= 2 {
		if waited > 4*longest {
			return false
		}
		<-time.After(d)
		waited += d
	}
	return true
}
