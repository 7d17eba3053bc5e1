// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/exportertest"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/profiler/internal/goruntime"
)

// What a sample stands for is the rate's, in windows and for callers of Profile.
func TestCPURate(t *testing.T) {
	knownRuntime(t)
	for _, hz := range []int{97, 99, 100, 101} {
		t.Run(strconv.Itoa(hz), func(t *testing.T) {
			p, rec := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithCPURate(hz), profiler.WithWindow(endless))
			period := int64(time.Second) / int64(hz)
			doubling(t, func(d time.Duration) bool {
				burn("rate", d)
				flush(t, p)
				got := parsed(t, last(t, rec))
				if got.Period != period || got.PeriodType.Type != "cpu" || got.PeriodType.Unit != "nanoseconds" {
					t.Fatalf("a period of %d %v, want %d ns", got.Period, got.PeriodType, period)
				}
				for _, s := range got.Sample {
					if s.Value[1] != s.Value[0]*period {
						t.Errorf("a sample of %v, want a count and its periods", s.Value)
					}
				}
				return burned(got, "rate")
			})
			if got := profileCPU(t, p, 10*time.Millisecond).Period; got != period {
				t.Errorf("Profile has a period of %d ns, want %d", got, period)
			}
			shutdown(t, p)
			if got := profileCPU(t, p, 10*time.Millisecond).Period; got != period {
				t.Errorf("Profile after Shutdown has a period of %d ns, want %d", got, period)
			}
		})
	}
}

// The runtime has nothing to say on stderr, at any rate, whatever happens: windows
// end, the program stops our profile and takes one of its own, and we take over.
func TestCPURateIsQuiet(t *testing.T) {
	const inner = "SPANPROF_TEST_QUIET"
	if os.Getenv(inner) == "" {
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCPURateIsQuiet$") //nolint:gosec // this program
		command.Env = append(os.Environ(), inner+"=1")
		var stdout, stderr strings.Builder
		command.Stdout, command.Stderr = &stdout, &stderr
		if err := command.Run(); err != nil || stderr.Len() > 0 {
			t.Errorf("%v\n%s\non stderr:\n%s", err, &stdout, &stderr)
		}
		return
	}
	rates := []int{100}
	if goruntime.Known() {
		rates = append(rates, 97, 200)
	}
	for _, hz := range rates {
		p, rec := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithCPURate(hz), profiler.WithWindow(100*time.Millisecond))
		if _, err := rec.Wait(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		pprof.StopCPUProfile()
		if err := pprof.StartCPUProfile(io.Discard); err == nil {
			pprof.StopCPUProfile()
		} // else a window has begun in between
		until(t, func() bool { return p.Status().CPU == "profiling" })
		shutdown(t, p)
	}
}

// Where the rate cannot be set without a word of the runtime on stderr, New says
// so.
func TestCPURateIsRefused(t *testing.T) {
	_, err := profiler.New(new(exportertest.Recorder), profiler.WithCPURate(97))
	if goruntime.Known() && err != nil || !goruntime.Known() && !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("New: %v", err)
	}
	if _, err := profiler.New(new(exportertest.Recorder), profiler.WithCPURate(100)); err != nil {
		t.Errorf("New with the default: %v", err)
	}
}

// knownRuntime skips where runtime/pprof writes CPU profiles.
func knownRuntime(t *testing.T) {
	t.Helper()
	if !goruntime.Known() {
		t.Skip("the internals of this Go version are not known")
	}
}
