// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler

import (
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/goruntime"
)

// At the rates that New takes, the samples stand for the CPU time that was used: at
// 500 Hz and 250 ticks they would for half of it. On a busy machine they come
// short by a sixth: a tick that comes while another process runs takes none.
func TestSamplesStandForTheCPUTime(t *testing.T) {
	for _, hz := range []int{97, defaultCPURate, maxCPURate} {
		t.Run(strconv.Itoa(hz), func(t *testing.T) {
			if hz != defaultCPURate && goruntime.Unknown() != nil {
				t.Skip(goruntime.Unknown())
			}
			if err := slowTick(hz, tick()); err != nil && tick() > 4*time.Millisecond {
				t.Skip(err)
			}
			var shares []float64
			for d := 250 * time.Millisecond; d <= 8*time.Second; d *= 2 {
				share := sampledShare(t, hz, d)
				if share > 0.6 && share < 1.4 {
					return
				}
				shares = append(shares, share)
			}
			t.Errorf("the samples stand for %.2f of the CPU time", shares)
		})
	}
}

// sampledShare returns how much of the CPU time that the process uses while it
// is busy for d has samples.
func sampledShare(t *testing.T, hz int, d time.Duration) float64 {
	t.Helper()
	rec := new(exportertest.Recorder)
	p, err := New(rec, WithKinds(exporter.KindCPU), WithCPURate(hz), WithWindow(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	p.SetPatience(time.Minute) // or on a busy machine there may be no window
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if err := p.Opened(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := processCPU(t)
	for begin, n := time.Now(), 0; time.Since(begin) < d; n++ {
		_ = strconv.Itoa(n)
	}
	used := processCPU(t) - before
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	parsed, err := rec.Profiles()[0].Parsed()
	if err != nil {
		t.Fatal(err)
	}
	var sampled int64
	for _, s := range parsed.Sample {
		sampled += s.Value[1]
	}
	return float64(sampled) / float64(used)
}

func processCPU(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
