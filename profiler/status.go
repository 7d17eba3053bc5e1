// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"slices"
	"time"

	"github.com/spanprof/spanprof/exporter"
)

// Status is what a Profiler is doing and what it has done. The counters count
// windows of all kinds since New. OTel metrics have the losses too: see
// [WithMeterProvider].
type Status struct {
	// Running is true from Start to Shutdown, unless Disabled.
	Running bool
	// Disabled is true if the environment had switched the Profiler off when it was made:
	// by OTEL_SDK_DISABLED or SPANPROF_DISABLED, or by the lack of SPANPROF_ENABLED for
	// [WithOptIn].
	Disabled bool
	// NotStarted is true until Start or Shutdown is called, unless Disabled.
	NotStarted bool
	// Profilers is how many Profilers of this process measure the CPU, this one included.
	// Only one can. It is 0 when KindCPU is not among the kinds.
	Profilers int
	// Kinds is what is measured, Window how long a window is.
	Kinds  []exporter.Kind
	Window time.Duration
	// MutexFraction and BlockRate are the values of [WithMutexFraction] and [WithBlockRate],
	// 0 without these options.
	MutexFraction, BlockRate int

	// CPUStart is when the open CPU window began to measure, CPUEnd when it
	// is due to close. Both are zero when nothing is measured: because
	// another CPU profile runs in the process, for example.
	CPUStart, CPUEnd time.Time
	// CPU is the state of the CPU profiler in a few words, for people.
	// It is empty when KindCPU is not among the kinds.
	CPU string
	// CPURate is the number of samples per second of CPU: the rate of [WithCPURate], or 100
	// if the runtime is unexpected. CPUFallback then has the cause and the effect on
	// samples, for people; otherwise it is empty.
	CPURate     int
	CPUFallback string
	// CPUForeign is true while another CPU profile of the process is known to run.
	// CPUForeignFound is how often one was found. The Profiler's own change from a window to
	// the next is no such time, however long it takes.
	CPUForeign      bool
	CPUForeignFound uint64
	// CPUForeignStops is how often something else in the process has
	// stopped the CPU profile of this Profiler.
	CPUForeignStops uint64
	// CPUEdges is how often the CPU profile was restarted: for a window's end, a Flush or a
	// Profile. CPUUnmeasured is all the time in between, without samples. Time while something else has the CPU profiler is not in it. On Linux
	// and macOS both are 0, with these exceptions:
	//
	//   - runtime/pprof reads the samples, see CPUFallback
	//   - something else handles SIGPROF, see CPU
	//   - the program has set a rate of its own
	//   - the reader of samples does not wake for 10 s, on a machine that is far too busy;
	//     after the second time in a row runtime/pprof reads them
	CPUEdges      uint64
	CPUUnmeasured time.Duration
	// CPUSamplesDropped is the number of CPU samples that are in no profile: the window, or
	// its last piece, had 65,536 different ones already. A window with 49,152 of them ends
	// early, so this happens only if the process gets no time for that. If runtime/pprof
	// reads the samples it is 0.
	CPUSamplesDropped uint64
	// Wall is about the samples of KindWall. It is zero when that is not
	// among the kinds.
	Wall WallStatus

	// WindowsSkipped is the number of windows that could not be measured. For CPU it counts
	// scheduled windows that were over before another CPU profile had ended. It grows with
	// time alone, not with calls of Flush. A window that was measured in part is exported
	// instead.
	WindowsSkipped uint64
	// Windows is the number of windows that were measured and handed to the
	// lanes.
	Windows uint64
	// Lanes has the account of these windows, one for each exporter.
	Lanes []exporter.Status
}

// Status returns what the Profiler is doing. It is cheap.
func (p *Profiler) Status() Status {
	p.mu.Lock()
	s := Status{
		Running:        p.state == running,
		Disabled:       p.disabled,
		NotStarted:     p.state == created && !p.disabled,
		MutexFraction:  max(0, p.config.mutexFraction),
		BlockRate:      max(0, p.config.blockRate),
		Kinds:          slices.Clone(p.kinds),
		Window:         p.config.window,
		WindowsSkipped: p.skipped.Load(),
		Windows:        p.windows.Load(),
		Lanes:          p.lanes.Status(),
	}
	due, cpuRun := p.due, p.cpuRun
	p.mu.Unlock()

	if slices.Contains(s.Kinds, exporter.KindWall) {
		s.Wall = p.wall.status()
	}
	switch {
	case !slices.Contains(s.Kinds, exporter.KindCPU):
	case p.disabled:
		s.CPU = "disabled by the environment"
	default:
		s.CPUStart, s.CPUForeignStops, s.CPU = p.cpu.status()
		s.Profilers = int(measuringCPU.Load())
		s.CPUForeign, s.CPUForeignFound = p.cpu.foreign()
		s.CPUEdges, s.CPUUnmeasured = p.cpu.lost()
		hz, fallback := p.cpu.rate()
		s.CPURate = hz
		if fallback != nil {
			s.CPUFallback = fallback.Error()
		}
		s.CPUSamplesDropped = p.cpu.dropped.Load()
		if s.CPUStart.IsZero() {
			break
		}
		s.CPUEnd = due
		if cpuRun == nil {
			break
		}
		if begun := cpuRun.begun(); !begun.IsZero() {
			s.CPUStart = begun
		}
	}
	return s
}
