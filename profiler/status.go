// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/spanprof/spanprof/exporter"
)

// Status is the state of a Profiler at one moment, and its counts since New. The global
// MeterProvider has the losses too, as metrics named spanprof.profiler.
type Status struct {
	// Running is true from New to Shutdown, unless Disabled.
	Running bool
	// Disabled is true if the environment had switched the Profiler off in New:
	// by OTEL_SDK_DISABLED or SPANPROF_DISABLED, or by the lack of SPANPROF_ENABLED for
	// [WithOptIn].
	Disabled bool
	// Kinds are the measured kinds.
	Kinds []exporter.Kind
	// Profilers is how many Profilers of this process measure the CPU, this one included.
	// Only one of them gets samples. It is 0 without KindCPU.
	Profilers int
	// CPU is the state of the CPU profiler in a few words, for people. It is empty without
	// KindCPU.
	CPU string
	// CPUEnd is when the open CPU window will end. It is zero while the CPU is not profiled:
	// another CPU profile runs in the process, for example.
	CPUEnd time.Time
	// CPUForeign is how often something else in the process had the CPU profiler, or
	// stopped the profile of this Profiler.
	CPUForeign uint64
	// Windows is the number of windows of all kinds that the exporters got.
	Windows uint64
	// WindowsSkipped is the number of windows that could not be measured. A window that was
	// measured in part is exported instead.
	WindowsSkipped uint64
	// Wall is about the samples of KindWall. It is zero without that kind.
	Wall WallStatus
	// Lanes has the account of each exporter.
	Lanes []exporter.Status
}

// States of the CPU profiler, in words for people.
const (
	stateDisabled = "disabled by the environment"
	stateStopped  = "stopped"
	stateWaiting  = "waiting until another CPU profile of this process has been written"
	stateOwn      = "profiling"
	stateDeaf     = "profiling; there are no samples, because something else in this process handles SIGPROF"
	stateForeign  = "another CPU profile is running in this process; trying again at the end of the window"
	stateTaken    = "something else in this process has stopped the CPU profile; trying again at the end of the window"
)

// measuringCPU is how many Profilers of this process measure the CPU.
var measuringCPU atomic.Int32

// Status returns the state of the Profiler after its last step. It is cheap.
func (p *Profiler) Status() Status {
	s := *p.published.Load()
	s.Kinds = slices.Clone(s.Kinds)
	s.Lanes = p.lanes.Status()
	if slices.Contains(s.Kinds, exporter.KindWall) {
		s.Wall = p.wall.status()
	}
	if s.CPU != "" && !s.Disabled {
		s.Profilers = int(measuringCPU.Load())
	}
	return s
}

// publish makes the state visible in Status and in the metrics. The loop calls it after each
// step.
func (p *Profiler) publish() {
	s := &Status{
		Running:        !p.disabled && !p.closing,
		Disabled:       p.disabled,
		Kinds:          p.config.kinds,
		Windows:        p.windows,
		WindowsSkipped: p.skipped,
	}
	for _, k := range p.config.kinds {
		switch {
		case k == exporter.KindWall:
			s.Wall = p.wall.status() // for the metrics
		case k == exporter.KindCPU && p.disabled:
			s.CPU = stateDisabled
		case k == exporter.KindCPU:
			s.CPU, s.CPUForeign = p.cpu.state, p.cpu.foreign
			if p.cpu.public != nil && s.CPU == stateOwn {
				s.CPU += "; samples have no times"
			}
			if p.cpu.measuring() {
				s.CPUEnd = p.due
			}
		}
	}
	before := p.published.Swap(s)
	if before == nil {
		before = &Status{}
	}
	for i, c := range counters {
		if n := c.of(s) - c.of(before); n > 0 {
			p.metrics[i].Add(context.Background(), int64(n)) // of no span: a loss belongs to none
		}
	}
}

// counters are the metrics. They are synchronous counters: the last losses come at Shutdown,
// and unregistering a callback would wait for the callbacks of others.
var counters = []struct {
	name, unit, description string
	of                      func(*Status) uint64
}{
	{"window.measured", "{window}", "Windows that the exporters got.", func(s *Status) uint64 { return s.Windows }},
	{"window.skipped", "{window}", "Windows that could not be measured.", func(s *Status) uint64 { return s.WindowsSkipped }},
	{"cpu.foreign", "{profile}", "Times that something else had the CPU profiler or stopped our profile.", func(s *Status) uint64 { return s.CPUForeign }},
	{"wall.round.skipped", "{round}", "Rounds that the budget did not allow.", func(s *Status) uint64 { return s.Wall.RoundsSkipped }},
	{"wall.sample.dropped", "{sample}", "Wall samples that are in no profile.", func(s *Status) uint64 { return s.Wall.SamplesDropped }},
}

func newMetrics() ([]metric.Int64Counter, error) {
	meter := otel.Meter("github.com/spanprof/spanprof/profiler")
	all := make([]metric.Int64Counter, len(counters))
	for i, c := range counters {
		var err error
		all[i], err = meter.Int64Counter("spanprof.profiler."+c.name, metric.WithUnit(c.unit), metric.WithDescription(c.description))
		if err != nil {
			return nil, fmt.Errorf("profiler: metrics: %w", err)
		}
	}
	return all, nil
}
