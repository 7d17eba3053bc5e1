// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel/metric"
)

// scope is the instrumentation scope of the metrics.
const scope = "github.com/spanprof/spanprof/profiler"

// WithMeterProvider sets where the metrics of the Profiler go. The default is the
// global MeterProvider, of which they miss what comes before it is set; New refuses
// nil. They are counters of what [Status] counts of windows and losses, brought up to
// date when windows end and by Flush and Shutdown:
//
//   - spanprof.profiler.window.measured and .skipped, in {window};
//   - spanprof.profiler.cpu.foreign_stops, in {stop};
//   - spanprof.profiler.cpu.sample.dropped and spanprof.profiler.wall.sample.dropped,
//     in {sample};
//   - spanprof.profiler.wall.round.skipped, in {round};
//   - spanprof.profiler.wall.freezes, in {freeze}, and .unwatched, in ms.
//
// What becomes of the windows afterwards the lanes say: see package exporter. Those that
// are not a Queue's go to the same MeterProvider.
func WithMeterProvider(m metric.MeterProvider) Option {
	return optionFunc(func(c config) config {
		c.meterProvider = m
		return c
	})
}

var counters = []struct {
	name, unit, description string
	of                      func(Status) uint64
}{
	{"window.measured", "{window}", "Windows that were measured and handed to the lanes.", func(s Status) uint64 { return s.Windows }},
	{"window.skipped", "{window}", "Windows that could not be measured.", func(s Status) uint64 { return s.WindowsSkipped }},
	{"cpu.foreign_stops", "{stop}", "CPU profiles that something else has stopped.", func(s Status) uint64 { return s.CPUForeignStops }},
	{"cpu.sample.dropped", "{sample}", "CPU samples that are in no profile.", func(s Status) uint64 { return s.CPUSamplesDropped }},
	{"wall.round.skipped", "{round}", "Rounds that the budget did not allow.", func(s Status) uint64 { return s.Wall.RoundsSkipped }},
	{"wall.freezes", "{freeze}", "Times that the process did not run for 100 ms or longer.", func(s Status) uint64 { return s.Wall.Freezes }},
	{"wall.unwatched", "ms", "Time in which nobody looked at goroutines: it is in wall profiles for spans alone that were found before.", func(s Status) uint64 { return uint64(s.Wall.Unwatched.Milliseconds()) }},
	{"wall.sample.dropped", "{sample}", "Wall samples that are in no profile.", func(s Status) uint64 { return s.Wall.SamplesDropped }},
}

// metrics says in OTel metrics what Status counts. The counters are synchronous: so
// they keep their values when the Profiler is gone, which has its last losses just
// then, and Shutdown does not wait for the callbacks of others, as unregistering one
// does.
type metrics struct {
	ctx      context.Context       // of no span: a loss is nobody's work
	counters []metric.Int64Counter // one for each of counters

	mu   sync.Mutex
	last Status // what they say
}

func newMetrics(p metric.MeterProvider) (*metrics, error) {
	meter := p.Meter(scope)
	if meter == nil {
		return nil, errors.New("profiler: the meter provider has no meter: leave WithMeterProvider out for the global one")
	}
	m := &metrics{ctx: context.Background()}
	for _, c := range counters {
		counter, err := meter.Int64Counter("spanprof.profiler."+c.name, metric.WithUnit(c.unit), metric.WithDescription(c.description))
		if err != nil {
			return nil, fmt.Errorf("profiler: metrics: %w", err)
		}
		m.counters = append(m.counters, counter)
	}
	return m, nil
}

// record adds what has happened since the last call.
func (m *metrics) record(status func() Status) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := status()
	for i, c := range counters {
		if n := c.of(now) - c.of(m.last); n > 0 {
			m.counters[i].Add(m.ctx, int64(n))
		}
	}
	m.last = now
}

// counts returns a Status whose counters go on where kinds are not measured any more.
func (p *Profiler) counts() Status {
	s := p.Status()
	s.Wall = p.wall.status()
	_, s.CPUForeignStops, _ = p.cpu.status()
	s.CPUSamplesDropped = p.cpu.dropped.Load()
	return s
}
