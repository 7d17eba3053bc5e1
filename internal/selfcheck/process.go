// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package selfcheck

import (
	"fmt"
	"slices"
	"time"

	"github.com/spanprof/spanprof/internal/env"
)

// The checks of what measures.
const (
	Disabled        = "disabled-by-environment"
	NotStarted      = "profiler-not-started"
	NothingMeasured = "nothing-measured"
	SecondProfiler  = "second-profiler"
	ForeignProfile  = "cpu-profile-of-others"
	ForeignStops    = "cpu-profile-stopped-by-others"
	CPUWaits        = "cpu-profile-waits"
	NoCPU           = "cpu-not-measured"
	Fallback        = "cpu-rate-not-possible"
	Dropped         = "cpu-samples-dropped"
	Starved         = "cpu-windows-starved"
	MutexFraction   = "mutex-without-fraction"
	BlockRate       = "block-without-rate"
	WallBudget      = "wall-over-budget"
	Failed          = "exporter-failing"
)

var processChecks = []check{
	disabled, notStarted, nothingMeasured, secondProfiler, foreignProfile, foreignStops, cpuWaits,
	failing, noCPU, fallback, dropped, starved, mutexFraction, blockRate, wallBudget,
}

func disabled(f *Facts) *Finding {
	if f.Disabled == "" {
		return nil
	}
	if f.Disabled == env.Enable {
		return &Finding{
			ID: Disabled, Severity: Note,
			Seen: "Profiling is off: the program uses WithOptIn, and the environment lacks " + env.Enable + "=true.",
			Do:   "Set the variable and start the program again.",
		}
	}
	return &Finding{
		ID: Disabled, Severity: Note,
		Seen: fmt.Sprintf("Profiling is disabled by %s=true in the environment.", f.Disabled),
		Do:   "Remove the variable and start the program again.",
	}
}

func notStarted(f *Facts) *Finding {
	if !f.Profiler.NotStarted {
		return nil
	}
	return &Finding{
		ID: NotStarted, Severity: Wrong, Certain: true,
		Seen: "The profiler was made and not started, so 0 windows were measured.",
		Do:   "Call Start after profiler.New.",
	}
}

func nothingMeasured(f *Facts) *Finding {
	if !f.Profiler.Running || !f.Profiler.None {
		return nil
	}
	return &Finding{
		ID: NothingMeasured, Severity: Note,
		Seen: "Nothing is measured: every kind is disabled.",
		Do:   "Call Enable of the profiler for a kind.",
	}
}

func secondProfiler(f *Facts) *Finding {
	if f.Profiler.Profilers < 2 {
		return nil
	}
	return &Finding{
		ID: SecondProfiler, Severity: Wrong, Certain: true,
		Seen: fmt.Sprintf("%d profilers of this process measure the CPU, and Go has one CPU profiler, so all but one get no samples.", f.Profiler.Profilers),
		Do:   "Call inprocess.Start or profiler.New once, and give further destinations to it by inprocess.WithExporter or exporter.NewMulti.",
	}
}

func foreignProfile(f *Facts) *Finding {
	p := &f.Profiler
	if !p.CPUIdle || !p.Foreign || p.Profilers > 1 {
		return nil
	}
	return &Finding{
		ID: ForeignProfile, Severity: Wrong, Reported: true,
		Seen: fmt.Sprintf("Another CPU profile is running in this process (%s found so far), so no CPU window is open.", number(p.Found)),
		Do:   "End it, or have it share the samples: serve /debug/pprof/ by profhttp.Handler, and take profiles by Profile of the profiler.",
	}
}

func foreignStops(f *Facts) *Finding {
	if f.Profiler.Stops == 0 {
		return nil
	}
	return &Finding{
		ID: ForeignStops, Severity: Wrong, Reported: true,
		Seen: fmt.Sprintf("Something else in this process has stopped the CPU profile %s.", count(f.Profiler.Stops, "time")),
		Do:   "Look for pprof.StopCPUProfile in the program and its libraries: it ends the profile of whoever has one.",
	}
}

// cpuWaits is about a CPU profiler that waits for what is not known to be another profile.
func cpuWaits(f *Facts) *Finding {
	p := &f.Profiler
	if !p.Running || !p.CPU || !p.CPUIdle || p.Foreign || p.Profilers > 1 {
		return nil
	}
	return &Finding{
		ID: CPUWaits, Severity: Note,
		Seen: fmt.Sprintf("0 CPU windows are open: %s.", p.State),
		Do:   "Wait, and look again.",
	}
}

func failing(f *Facts) *Finding {
	failing := f.Failing
	if f.Store.Refused > 0 {
		// The store is too small, as another check says.
		failing = slices.DeleteFunc(slices.Clone(failing), func(one Failing) bool { return one.Name == "store" })
	}
	if len(failing) == 0 {
		return nil
	}
	first := failing[0]
	more := ""
	if n := len(failing) - 1; n > 0 {
		more = fmt.Sprintf(" (and %s)", count(n, "more destination"))
	}
	return &Finding{
		ID: Failed, Severity: Wrong, Reported: true,
		Seen: fmt.Sprintf("Profiles do not reach %s%s: %s", first.Name, more, first.Why),
		Do:   "See the page log for what is lost and what waits.",
	}
}

func noCPU(f *Facts) *Finding {
	if p := &f.Profiler; !p.Running || p.None || p.CPU {
		return nil
	}
	return &Finding{
		ID: NoCPU, Severity: Note,
		Seen: "CPU time is not among the kinds that are measured.",
		Do:   "Name exporter.KindCPU in WithKinds.",
	}
}

func fallback(f *Facts) *Finding {
	if f.Profiler.Fallback == "" {
		return nil
	}
	return &Finding{
		ID: Fallback, Severity: Note,
		Seen: fmt.Sprintf("The CPU is sampled at 100 Hz, not as WithCPURate says: %s.", f.Profiler.Fallback),
		Do:   "Leave WithCPURate out, or use a release of Go that spanprof is tested with.",
	}
}

func dropped(f *Facts) *Finding {
	if f.Profiler.Dropped == 0 {
		return nil
	}
	return &Finding{
		ID: Dropped, Severity: Note,
		Seen: count(f.Profiler.Dropped, "CPU sample") + " are in no profile, as their windows had 65,536 different ones already.",
		Do:   "Make windows shorter by WithWindow.",
	}
}

// maxEdge is how long the end of a CPU window takes on a machine that is not starved.
const maxEdge = 250 * time.Millisecond

func starved(f *Facts) *Finding {
	p := &f.Profiler
	if p.Edges < 3 || p.Unmeasured < time.Duration(p.Edges)*maxEdge {
		return nil
	}
	mean := (p.Unmeasured / time.Duration(p.Edges)).Round(10 * time.Millisecond)
	return &Finding{
		ID: Starved, Severity: Note,
		Seen: fmt.Sprintf("The change from one CPU window to the next takes %v on average, over %s, as all cores are busy; what runs meanwhile has no samples.", mean, count(p.Edges, "window")),
		Do:   "Make windows longer by WithWindow, so that less is lost, or give the program more CPU.",
	}
}

func mutexFraction(f *Facts) *Finding {
	if p := &f.Profiler; !p.Running || !p.Mutex || p.MutexFraction > 0 {
		return nil
	}
	return &Finding{
		ID: MutexFraction, Severity: Wrong, Certain: true,
		Seen: "Mutex profiles are asked for and empty: the runtime's mutex profile fraction is 0, so no mutex is counted.",
		Do:   "Set it by profiler.WithMutexFraction(100), which inprocess takes as inprocess.WithProfilerOptions(profiler.WithMutexFraction(100)), or by runtime.SetMutexProfileFraction.",
	}
}

// enoughWindows is how many windows have to be empty for the log.
const enoughWindows = 6

func blockRate(f *Facts) *Finding {
	p := &f.Profiler
	if !p.Running || !p.Block || p.BlockRate || p.BlockEvents > 0 {
		return nil
	}
	return &Finding{
		ID: BlockRate, Severity: Wrong, Certain: p.Windows >= enoughWindows,
		Seen: fmt.Sprintf("Block profiles are asked for and empty: no block rate is given, and the runtime has counted 0 blocking events in %s of all kinds.", count(p.Windows, "window")),
		Do:   "Set it by profiler.WithBlockRate(1e6), one event for each millisecond of blocking, which inprocess takes as inprocess.WithProfilerOptions(profiler.WithBlockRate(1e6)), or by runtime.SetBlockProfileRate.",
	}
}

func wallBudget(f *Facts) *Finding {
	w := &f.Wall
	all := w.Rounds + w.Skipped
	if !w.Measured || all < 20 || w.Skipped < all*9/10 {
		return nil
	}
	severity := Note
	if w.Rounds == 0 {
		severity = Wrong
	}
	return &Finding{
		ID: WallBudget, Severity: severity, Certain: true,
		Seen: fmt.Sprintf("%s of %s rounds of wall time were skipped, as a look at %s costs more than the budget allows.", number(w.Skipped), number(all), count(w.Goroutines, "goroutine")),
		Do:   "Raise the budget by profiler.WithWallBudget, or leave the kind wall out.",
	}
}

// Gaps says why CPU was not profiled all the time, "" where that is not known.
func Gaps(f *Facts) string {
	p := &f.Profiler
	switch {
	case p.Profilers > 1:
		return "another profiler of this process has the CPU profiler"
	case p.Stops > 0:
		return fmt.Sprintf("something else in this process has stopped the CPU profile, %s so far", count(p.Stops, "time"))
	case p.Found > 0:
		return fmt.Sprintf("another CPU profile ran in this process, %s so far", count(p.Found, "time"))
	case p.Unmeasured >= maxEdge:
		return fmt.Sprintf("all cores were busy, and the change from one CPU window to the next took long: %v in all, over %s", p.Unmeasured.Round(10*time.Millisecond), count(p.Edges, "window"))
	}
	return ""
}
