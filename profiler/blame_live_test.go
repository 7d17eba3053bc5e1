// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler"
)

// While windows end, under load and one after the other, the status never says that
// something else has the CPU profiler.
func TestOwnWindowsBlameNobody(t *testing.T) {
	p, _ := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for n := 0; ; n++ {
				if n%10_000 == 0 {
					select {
					case <-stop:
						return
					default:
					}
				}
			}
		})
	}
	seen := make(map[string]int)
	var polled atomic.Int64
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			s := p.Status()
			polled.Add(1)
			seen[s.CPU]++
			if s.CPUForeign || s.CPUForeignFound > 0 || s.CPUForeignStops > 0 {
				seen["blamed"]++
			}
			if s.CPU == "profiling" && s.CPUStart.IsZero() {
				seen["no start"]++
			}
		}
	})
	for n := 0; n < 10 || polled.Load() < 10; n++ {
		flush(t, p)
	}
	close(stop)
	wg.Wait()
	polls := seen["profiling"]
	// On a slow machine the end of a window may take longer than the patience.
	delete(seen, "waiting until the last CPU profile has been written, which takes long where all cores are busy")
	delete(seen, "profiling")
	if len(seen) > 0 || polls == 0 {
		t.Errorf("%d polls said profiling, others %v", polls, seen)
	}
}

// What is known of another profile, and of another Profiler, is in the status.
func TestOthersAreToldApart(t *testing.T) {
	t.Cleanup(func() { reported.take("") })
	foreign := startForeign(t)
	p, _ := launch(t, longest, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless))
	if err := p.Opened(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := p.Status(); !s.CPUForeign || s.CPUForeignFound != 1 || s.Profilers != 1 {
		t.Errorf("beside another profile: %+v", s)
	}
	foreign.stop(t)
	second, _ := launch(t, longest, profiler.WithKinds(exporter.KindCPU, exporter.KindHeap), profiler.WithWindow(endless))
	if err := second.Opened(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := p.Status().Profilers; n != 2 {
		t.Errorf("%d Profilers, want 2", n)
	}
	if err := second.Disable(t.Context(), exporter.KindCPU); err != nil {
		t.Fatal(err)
	}
	if n := p.Status().Profilers; n != 1 {
		t.Errorf("%d Profilers once one measures no CPU, want 1", n)
	}
}

// A resource that becomes known later is on the profiles that end after that.
func TestResourceFunc(t *testing.T) {
	var mu sync.Mutex
	var known *resource.Resource
	p, rec := start(t, profiler.WithKinds(exporter.KindHeap), profiler.WithWindow(endless),
		profiler.WithResourceFunc(nil),
		profiler.WithResourceFunc(func() *resource.Resource {
			mu.Lock()
			defer mu.Unlock()
			return known
		}))
	flush(t, p)
	shop := resource.NewSchemaless(attribute.String("service.name", "shop"))
	mu.Lock()
	known = shop
	mu.Unlock()
	flush(t, p)
	var got []string
	for _, w := range rec.Profiles() {
		got = append(got, w.Resource().String())
		if parsed, err := w.Parsed(); err != nil || len(parsed.SampleType) == 0 {
			t.Errorf("profile %v, %v", parsed, err)
		}
	}
	if diff := cmp.Diff([]string{resource.Default().String(), shop.String()}, got); diff != "" {
		t.Error(diff)
	}
}
