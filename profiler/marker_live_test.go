// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"context"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/marker"
	"github.com/spanprof/spanprof/profiler"
)

var sink []byte

// shares are the shares of three names in each profile.
var shares = map[string]float64{"a tenth": 0.1, "three tenths": 0.3, "six tenths": 0.6}

// Allocations, live memory, and waits at locks and channels come back in the shares of
// their names.
func TestMarkers(t *testing.T) {
	// 5,000 samples of the live memory: their shares have an error of 0.7 %.
	rate := runtime.MemProfileRate
	defer func() { runtime.MemProfileRate = rate }()
	runtime.MemProfileRate = 64 << 10
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1))
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	rec := new(exportertest.Recorder)
	p, err := profiler.New(rec, profiler.WithKinds(exporter.KindHeap, exporter.KindMutex, exporter.KindBlock),
		profiler.WithWindow(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	var kept [][]byte
	for name, share := range shares {
		marker.Do(ctx, name, func(context.Context) {
			for range int(share * 100_000) {
				sink = make([]byte, 16<<10)
			}
			for range int(share * 20_000) {
				kept = append(kept, make([]byte, 16<<10))
			}
			wait(time.Duration(share * float64(time.Second)))
		})
	}
	runtime.GC()
	if err := p.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(kept)
	sums := map[string]map[string]float64{}
	for _, of := range rec.Profiles() {
		parsed, err := of.Parsed()
		if err != nil {
			t.Fatal(err)
		}
		for i, column := range parsed.SampleType {
			name := string(of.Kind()) + " " + column.Type
			sums[name] = map[string]float64{}
			for _, s := range parsed.Sample {
				sums[name][strings.Join(s.Label[labelkey.SpanName], ",")] += float64(s.Value[i])
			}
		}
	}
	for _, column := range []string{"heap alloc_space", "heap inuse_space", "mutex delay", "block delay"} {
		got, total := sums[column], 0.0
		for name := range shares {
			total += got[name]
		}
		for name, want := range shares {
			share := got[name] / total
			t.Logf("%s: %s: %.3f", column, name, share)
			if !(math.Abs(share-want) < 0.03) {
				t.Errorf("%s: %s has %.3f, want %.1f", column, name, share, want)
			}
		}
	}
}

// wait holds a lock for d while another goroutine under the same marker wants it.
func wait(d time.Duration) {
	var mu sync.Mutex
	mu.Lock()
	started := make(chan struct{})
	go func() {
		time.Sleep(d)
		close(started)
	}()
	done := make(chan struct{})
	go func() {
		mu.Lock()
		mu.Unlock() //nolint:staticcheck // waits only
		close(done)
	}()
	<-started
	mu.Unlock()
	<-done
}
