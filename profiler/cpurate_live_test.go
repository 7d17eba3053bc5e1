// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/profiler"
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
	if goruntime.Unknown() == nil {
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

// Rates that make no sense on any Go are refused.
func TestCPURateIsRefused(t *testing.T) {
	for _, hz := range []int{-1, 0, 201, 1000} {
		if _, err := profiler.New(new(exportertest.Recorder), profiler.WithCPURate(hz)); err == nil {
			t.Errorf("a rate of %d Hz is accepted", hz)
		}
	}
}

// On a runtime that is not as expected New does not fail: the rate is runtime/pprof's,
// which Status says, and otel.Handle hears of it once.
func TestCPURateFallsBack(t *testing.T) {
	changed := errors.New("labels are kept as map[string]string")
	for _, hz := range []int{97, 99, 100, 101} {
		t.Run(strconv.Itoa(hz), func(t *testing.T) {
			heard := hear(t, changed.Error())
			p, rec := start(t, profiler.WithUnknownRuntime(changed), profiler.WithKinds(exporter.KindCPU), profiler.WithCPURate(hz), profiler.WithWindow(endless))
			flush(t, p)
			flush(t, p)
			if got := last(t, rec); parsed(t, got).Period != int64(10*time.Millisecond) {
				t.Errorf("a period of %d ns, want that of 100 Hz", parsed(t, got).Period)
			}
			if got := profileCPU(t, p, 10*time.Millisecond).Period; got != int64(10*time.Millisecond) {
				t.Errorf("Profile has a period of %d ns, want that of 100 Hz", got)
			}
			shutdown(t, p)
			s := p.Status()
			if s.CPURate != 100 || !strings.Contains(s.CPUFallback, changed.Error()) || !strings.Contains(s.CPUFallback, "after a span's end") {
				t.Errorf("status: %d Hz, %q", s.CPURate, s.CPUFallback)
			}
			if got := heard(); (got == 0) != (hz == 100) || got > 1 {
				t.Errorf("otel.Handle heard of it %d times", got)
			}
		})
	}
}

// Records that the runtime of another Go could write end in runtime/pprof's own
// profiles at its rate, at once.
func TestCPURateFallsBackFromRecords(t *testing.T) {
	knownRuntime(t)
	for name, change := range map[string]func(records []uint64) []uint64{
		"header":  func(r []uint64) []uint64 { return append([]uint64{4, r[1], r[2], 0}, r[3:]...) },
		"records": func(r []uint64) []uint64 { return append(slices.Clone(r[:3]), 2, 0) },
		"order":   func(r []uint64) []uint64 { return append(slices.Clone(r[:3]), 4, 1, 1<<40, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			heard := hear(t, "100 samples are taken a second, not 97")
			first := true
			rec := new(exportertest.Recorder)
			p, err := profiler.New(rec, profiler.WithKinds(exporter.KindCPU), profiler.WithCPURate(97), profiler.WithWindow(endless))
			if err != nil {
				t.Fatal(err)
			}
			p.SetReader(func() (records []uint64, labels []*goruntime.LabelSet, eof bool) {
				records, labels, eof = goruntime.ReadCPUProfile()
				if first && len(records) > 0 {
					first, records, labels = false, change(records), append(slices.Clip(labels), nil)
				}
				return records, labels, eof
			})
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			defer shutdown(t, p)
			until(t, func() bool { return p.Status().CPURate == 100 })
			if got := p.Status().CPUFallback; !strings.Contains(got, "records") {
				t.Errorf("the status is %q", got)
			}
			doubling(t, func(d time.Duration) bool {
				burn("fallback", d)
				flush(t, p)
				got := parsed(t, last(t, rec))
				return got.Period == int64(10*time.Millisecond) && burned(got, "fallback")
			})
			if got := heard(); got != 1 {
				t.Errorf("otel.Handle heard of it %d times", got)
			}
		})
	}
}

// The profile of a Profiler that does not run falls back too.
func TestProfileFallsBackFromRecords(t *testing.T) {
	knownRuntime(t)
	p, err := profiler.New(new(exportertest.Recorder), profiler.WithCPURate(97))
	if err != nil {
		t.Fatal(err)
	}
	heard := hear(t, "100 samples are taken a second, not 97")
	p.SetReader(func() (records []uint64, labels []*goruntime.LabelSet, eof bool) {
		_, _, eof = goruntime.ReadCPUProfile()
		return []uint64{1}, make([]*goruntime.LabelSet, 1), eof
	})
	profileCPU(t, p, 10*time.Millisecond)
	if got := profileCPU(t, p, 10*time.Millisecond).Period; got != int64(10*time.Millisecond) {
		t.Errorf("a period of %d ns, want that of 100 Hz", got)
	}
	if got := heard(); got != 1 {
		t.Errorf("otel.Handle heard of it %d times", got)
	}
}

// knownRuntime skips where runtime/pprof writes CPU profiles.
func knownRuntime(t *testing.T) {
	t.Helper()
	if err := goruntime.Unknown(); err != nil {
		t.Skip(err)
	}
}
