// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package selfcheck

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/env"
	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/spanlabels"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/store"
)

// Facts describe a program. No check finds anything in the zero value.
type Facts struct {
	// Off is a sentence if the environment switches everything off.
	Off string

	// MutexFraction is the runtime's, and BlockEvents the number of stacks that have blocked.
	Profiler                               profiler.Status
	MutexFraction, BlockEvents, Goroutines int

	// RunningLong is the number of local roots that are open for Long or more.
	Store       store.Stats
	Tracers     []store.Tracer
	RunningLong int
	// Service is the service.name of spans, if HasSpans. Profiled are the names in CPU
	// profiles if they differ.
	HasSpans bool
	Service  string
	Profiled []string

	// NotSet reports whether the program has a tracer provider, but no global one.
	NotSet bool
	// NoProfileID reports whether spans lack the attribute that marks labelled ones.
	NoProfileID, PublicAPI bool
	// Sampled and Unsampled are about how many spans were started.
	Sampled, Unsampled uint64
	// These are counters of package spanlabels.
	Wiped, NoRoom uint64
	NamesFull     int64
}

// Long is how long a span may run until it looks forgotten.
const Long = 10 * time.Minute

// Collect returns the facts of this process. provided reports whether s has a tracer provider.
func Collect(p *profiler.Profiler, s *store.Store, provided bool) *Facts {
	f := &Facts{Profiler: p.Status(), Store: s.Stats(), Tracers: s.Tracers(), Goroutines: runtime.NumGoroutine()}
	f.MutexFraction = runtime.SetMutexProfileFraction(-1) // reads it
	f.BlockEvents, _ = runtime.BlockProfile(nil)
	f.Service, f.HasSpans, f.Profiled = s.Services()
	if off := env.DisabledBy(); f.Profiler.Disabled && off != "" {
		f.Off = fmt.Sprintf("Profiling is disabled by %s=true in the environment.", off)
	} else if f.Profiler.Disabled {
		f.Off = "Profiling is off: the program uses WithOptIn, and the environment lacks " + env.Enable + "=true."
	}
	if f.Store.SpansRunning > 0 {
		since := time.Now().Add(-Long).UnixNano()
		for _, r := range spanlabels.Running() {
			if r.Start > 0 && r.Start <= since { // spans from before the profiler have no age
				f.RunningLong++
			}
		}
	}
	global := reflect.TypeOf(otel.GetTracerProvider())
	f.NotSet = provided && global.Kind() == reflect.Pointer && global.Elem().PkgPath() == "go.opentelemetry.io/otel/internal/global"
	counts := &spanlabels.Counts
	f.Sampled, f.Unsampled = counts.Sampled.Load(), counts.Unsampled.Load()
	f.NoProfileID, f.NamesFull = counts.NoProfileID.Load(), counts.NamesFull.Load()
	f.PublicAPI = f.Sampled+f.Unsampled > 0 && goruntime.Unknown() != nil
	f.Wiped, f.NoRoom = counts.Wiped.Load(), counts.NoRoom.Load()
	return f
}

// EnoughCPU is how much sampled CPU time is enough for the log. Tests reduce it before
// the first check.
var EnoughCPU = 5 * time.Second

const (
	fewSpans    = 10  // enough for the page
	enoughSpans = 100 // enough for the log
)

// enough reports whether spans and CPU time suffice to log a finding about labels.
func (f *Facts) enough(spans int64) bool {
	return spans >= enoughSpans && f.Store.CPUTime >= EnoughCPU
}

// many reports whether n is a large part of the labelled spans.
func (f *Facts) many(n uint64) bool { return n >= enoughSpans && n >= f.Sampled/10 }

// unlabelled returns the tracers without a labelled span, the number of their spans and
// the number of all spans.
func (f *Facts) unlabelled() (names []string, spans, all int64) {
	if f.Off != "" || f.NoProfileID || f.NoRoom > 0 {
		return nil, 0, 0
	}
	for _, t := range f.Tracers {
		all += t.Roots
		if t.Roots > 0 && t.Unlabelled == t.Roots {
			names = append(names, t.Name)
			spans += t.Roots
		}
	}
	return names, spans, all
}

// failing returns the first destination that fails now, and its error.
func (f *Facts) failing() string {
	for _, l := range f.Profiler.Lanes {
		if l.LastError != nil && l.LastErrorTime.After(l.LastSuccess) {
			line, _, _ := strings.Cut(l.LastError.Error(), "\n")
			return l.Name + ": " + termtext.Clip(line, termtext.MaxQuoted)
		}
	}
	return ""
}

// gaps returns why CPU was not profiled all the time, empty if unknown.
func (f *Facts) gaps() string {
	p := &f.Profiler
	switch {
	case p.Profilers > 1:
		return "another profiler of this process has the CPU profiler"
	case p.CPUForeign > 0:
		return fmt.Sprintf("something else in this process had the CPU profiler or stopped the profile, %s so far", count(p.CPUForeign, "time"))
	}
	return ""
}
