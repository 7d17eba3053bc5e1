// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
)

// meterProvider sums its counters by name, so that the module needs no metrics SDK.
type meterProvider struct {
	noop.MeterProvider
	mu   sync.Mutex
	sums map[string]int64
}

// newMeterProvider returns the global MeterProvider of a test.
func newMeterProvider(t *testing.T) *meterProvider {
	p := &meterProvider{sums: map[string]int64{}}
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(p)
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	return p
}

func (p *meterProvider) Meter(string, ...metric.MeterOption) metric.Meter { return meter{provider: p} }

// values returns the sums that are not 0.
func (p *meterProvider) values() map[string]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.sums)
}

type meter struct {
	noop.Meter
	provider *meterProvider
}

func (m meter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	name, ours := strings.CutPrefix(name, "spanprof.profiler.")
	if !ours { // of the queues
		return noop.Int64Counter{}, nil
	}
	return sum{provider: m.provider, name: name}, nil
}

type sum struct {
	noop.Int64Counter
	provider *meterProvider
	name     string
}

func (s sum) Add(_ context.Context, n int64, _ ...metric.AddOption) {
	s.provider.mu.Lock()
	defer s.provider.mu.Unlock()
	s.provider.sums[s.name] += n
}

// Each number of a loss has its counter.
func TestMetricsOfStatus(t *testing.T) {
	s := &Status{Windows: 1, WindowsSkipped: 2, CPUForeign: 3, Wall: WallStatus{RoundsSkipped: 4, SamplesDropped: 5}}
	got := make(map[string]uint64)
	for _, c := range counters {
		got[c.name] = c.of(s)
	}
	want := map[string]uint64{"window.measured": 1, "window.skipped": 2, "cpu.foreign": 3, "wall.round.skipped": 4, "wall.sample.dropped": 5}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
}

// faulty is an exporter. Each second Export fails, until one hangs.
type faulty struct {
	exportertest.Recorder
	calls int
	hangs int // from this call on
}

func (f *faulty) Export(ctx context.Context, _ *exporter.Profile) error {
	f.calls++
	switch {
	case f.calls >= f.hangs:
		<-ctx.Done()
		return ctx.Err()
	case f.calls%2 == 0:
		return errors.New("an Export of two")
	}
	return nil
}

// Metrics follow Flush and the ends of windows, and have what Shutdown left behind.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider := newMeterProvider(t)
		p, err := New(&faulty{hangs: 5}, WithKinds(exporter.KindGoroutine), WithWindow(time.Second), WithFirstEnd())
		if err != nil {
			t.Fatal(err)
		}
		check := func(when string, want map[string]int64) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, provider.values()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.Flush(t.Context()); err == nil || err.Error() != "profiler: 1 failed: an Export of two" {
			t.Errorf("Flush: %v, want the failure", err)
		}
		check("after Flush", map[string]int64{"window.measured": 2})
		<-time.After(3500 * time.Millisecond)
		check("after windows", map[string]int64{"window.measured": 5})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v", err)
		}
		check("after Shutdown", map[string]int64{"window.measured": 6})
	})
}
