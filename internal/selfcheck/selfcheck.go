// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package selfcheck finds what separates profiles from their spans: a provider without
// the wrapper, a kind without its rate, a second profiler. facts.go collects the [Facts],
// [Run] has the table of checks.
package selfcheck

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/viewer"
)

// Wrong and Note are the severities. Wrong is a mistake: the program lacks something that
// it uses. A Note may be intended.
const (
	Wrong = "wrong"
	Note  = "note"
)

// Finding is the result of a check. Log reports whether it belongs in the log.
type Finding struct {
	viewer.Finding
	Log bool
}

// Page returns the result of all checks for the viewer. headline is the reason why the profiler
// does not measure as usual, empty if it does.
func Page(f *Facts) (check viewer.SelfCheck, headline string) {
	found, number := Run(f)
	check = viewer.SelfCheck{Checks: number, Gaps: f.gaps(), SpansStarted: f.Sampled + f.Unsampled, SpansSampled: f.Sampled}
	for _, one := range found {
		check.Findings = append(check.Findings, one.Finding)
		if headline == "" && slices.Contains(head, one.ID) {
			headline = one.Seen
		}
	}
	return check, headline
}

// logged has the ids of findings that News has returned.
var logged sync.Map

// News returns an error for each finding that must be logged now. Each is logged once in a
// process.
func News(f *Facts) (news []error) {
	found, _ := Run(f)
	for _, f := range found {
		if !f.Log {
			continue
		}
		if _, before := logged.LoadOrStore(f.ID, true); !before {
			news = append(news, fmt.Errorf("self-check %s: %s %s", f.ID, f.Seen, f.Do))
		}
	}
	return news
}

func count[N int | int64 | uint64](n N, noun string) string {
	return termtext.Plural(int64(n), noun)
}

// list returns the first names, each in quotes, on one line and bounded.
func list(names ...string) string {
	const most = 3
	var quoted []string
	for _, name := range names[:min(most, len(names))] {
		quoted = append(quoted, fmt.Sprintf("%q", termtext.Clip(strings.ToValidUTF8(name, "?"), termtext.MaxQuoted)))
	}
	text := strings.Join(quoted, ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}

const always, never = true, false

// head are the findings for the head of a page: nothing is measured, or not as usual.
var head = []string{
	"disabled-by-environment", "second-profiler", "cpu-profile-waits", "exporter-failing", "labels-by-public-api",
}

// Run makes all checks. It returns the findings, wrong ones first, and the number of checks.
func Run(f *Facts) (findings []Finding, number int) {
	// check is a row of the table. An id is constant for good. log is whether enough was seen
	// for the log; it is never for what other code reports. found is whether the check finds
	// something: seen, with figures. do is what to do.
	check := func(id, severity string, log, found bool, seen, do string) {
		number++
		if found {
			findings = append(findings, Finding{viewer.Finding{ID: id, Severity: severity, Seen: seen, Do: do}, log})
		}
	}

	p, s, on := &f.Profiler, &f.Store, f.Off == ""
	measures := func(k exporter.Kind) bool { return p.Running && slices.Contains(p.Kinds, k) }
	waits := measures(exporter.KindCPU) && p.CPUEnd.IsZero() && p.Profilers < 2
	lane := f.failing()
	rounds := p.Wall.Rounds + p.Wall.RoundsSkipped
	unrecorded := on && s.SpansEnded == 0 && s.SpansRunning == 0
	started := f.Sampled + f.Unsampled
	tracers, bare, roots := f.unlabelled()
	labelled := roots - bare
	if f.NoProfileID {
		labelled = s.SpansEnded
	}
	severity := Note // the program may keep a few spans without labels on purpose
	if bare > roots/2 {
		severity = Wrong
	}

	waitSeverity := Note
	if p.CPUForeign > 0 {
		waitSeverity = Wrong
	}

	check("disabled-by-environment", Note, never, !on, f.Off, "Change the variable and start the program again.")
	check("second-profiler", Wrong, always, p.Profilers > 1,
		fmt.Sprintf("%d profilers of this process measure the CPU. Go has one CPU profiler, so the others get no samples.", p.Profilers),
		"Call inprocess.Start or profiler.New once. Add destinations by inprocess.WithExporter or exporter.NewMulti.")
	check("cpu-profile-waits", waitSeverity, never, waits,
		fmt.Sprintf("0 CPU windows are open: %s. Other CPU profiles were in the way %s.", p.CPU, count(p.CPUForeign, "time")),
		"Look for pprof.StartCPUProfile and pprof.StopCPUProfile in the program and its libraries. Share the samples: serve /debug/pprof/ by profhttp.Handler, and take profiles by Profile of the profiler.")
	check("exporter-failing", Wrong, never, lane != "",
		fmt.Sprintf("Profiles do not reach %s", lane),
		"The page log lists lost and waiting profiles.")
	check("labels-by-public-api", Note, never, f.PublicAPI,
		"Goroutines are labelled by runtime/pprof's public API alone, which cannot read labels. CPU samples have no times.",
		"Use a Go release that spanprof is tested with, on 386, amd64 or arm64, without the tag spanprof_public.")
	check("mutex-without-fraction", Wrong, always, measures(exporter.KindMutex) && f.MutexFraction == 0,
		"Mutex profiles are asked for and empty: the runtime's mutex profile fraction is 0, so no mutex is counted.",
		"Call runtime.SetMutexProfileFraction(100).")
	check("block-without-rate", Wrong, never, p.Windows >= 6 && measures(exporter.KindBlock) && f.BlockEvents == 0,
		fmt.Sprintf("Block profiles are empty: the runtime has counted 0 blocking events in %s. Probably no block rate is set.", count(p.Windows, "window")),
		"Call runtime.SetBlockProfileRate(1e6): one event per millisecond of blocking.")
	check("wall-over-budget", Wrong, p.Wall.Rounds == 0, measures(exporter.KindWall) && rounds >= 20 && p.Wall.RoundsSkipped >= rounds*9/10,
		fmt.Sprintf("%d of %d rounds of wall time were skipped: %s cost more than the budget.", p.Wall.RoundsSkipped, rounds, count(f.Goroutines, "goroutine")),
		"Raise the budget by profiler.WithWallBudget, or leave the kind wall out of WithKinds.")

	check("provider-not-set", Note, never, unrecorded && f.NotSet && started == 0,
		"0 spans were recorded. The program has not called otel.SetTracerProvider.",
		"Give what spanprof.NewTracerProvider returned to otel.SetTracerProvider and inprocess.Start.")
	check("provider-missing", Wrong, f.enough(int64(f.Sampled)), unrecorded && f.Sampled >= fewSpans,
		fmt.Sprintf("About %s are labelled and 0 are recorded: inprocess.Start got no tracer provider, or another one.", count(f.Sampled, "span")),
		"Give what spanprof.NewTracerProvider returned to inprocess.Start.")
	check("provider-replaced", Note, never, s.SamplesUnseen >= enoughSpans,
		fmt.Sprintf("%s are of spans that the store did not record, as after a reload that replaces the tracer provider, or after its Shutdown.", count(s.SamplesUnseen, "CPU sample")),
		"Register the SpanProcessor of Profiling.Store with each new provider, and shut a provider down last.")
	check("spans-without-labels", severity, severity == Wrong && f.enough(bare), bare > 0,
		fmt.Sprintf("%d of %d local root spans have no labels, all of %s %s. Package spanprof does not wrap the provider of their tracers.", bare, roots, count(len(tracers), "tracer"), list(tracers...)),
		"Wrap the SDK's provider by spanprof.NewTracerProvider. Give the wrapper to otel.SetTracerProvider and inprocess.Start, and get tracers from it. Or register spanprof.NewSpanProcessor with the SDK's provider.")

	check("spans-not-sampled", Note, never, on && 20*f.Sampled < started && (f.Unsampled >= 10*enoughSpans || f.Sampled == 0 && f.Unsampled >= fewSpans),
		fmt.Sprintf("Of about %s %s were not sampled, and only sampled spans are labelled.", count(started, "span"), termtext.Percent(int64(f.Unsampled), int64(started))),
		"Sample more of them by sdktrace.WithSampler, or name the CPU time of the others by spanprof.WithUnsampledSpanNames.")
	check("span-names-too-many", Note, never, f.NamesFull > 0,
		fmt.Sprintf(`Spans have more than %d different names, the limit for labels. All further names are labelled "other".`, f.NamesFull),
		"Give spans names without ids and paths, or raise spanprof.WithSpanNameLimit.")
	check("labels-replaced", Note, never, f.many(f.Wiped),
		fmt.Sprintf("%s (of about %d) ended without their labels: something in the span replaced its labels.", count(f.Wiped, "span"), max(f.Sampled, f.Wiped)),
		"Pass it the span's context: pprof.Do with context.Background() removes the labels until the span ends.")
	check("spans-without-room", Wrong, f.NoRoom >= enoughSpans, f.NoRoom > 0,
		count(f.NoRoom, "span")+" got no labels: some 60,000 were open, the limit of spanprof.NewSpanProcessor.",
		"End every span, or wrap the provider by spanprof.NewTracerProvider, which has no such limit.")
	check("spans-not-ended", Note, never, f.RunningLong >= enoughSpans,
		fmt.Sprintf("%d or more of %s run for over %v, and %d have ended.", f.RunningLong, count(s.SpansRunning, "open local root span"), Long, s.SpansEnded),
		"End each span by defer span.End() next to its start; a span without an end reaches no backend.")
	check("cpu-outside-spans", Note, never, f.enough(labelled) && s.CPUTimeLabelled < s.CPUTime/10,
		fmt.Sprintf("%s of %v of CPU time was used in spans. %s had labels, and most work runs outside of them.",
			termtext.Percent(int64(s.CPUTimeLabelled), int64(s.CPUTime)), s.CPUTime.Round(100*time.Millisecond), count(labelled, "local root span")),
		"Start spans around that work. A worker of a pool gets a job's labels from its own span or spanprof.Do, a new goroutine from spanprof.Go.")

	check("service-names-differ", Wrong, always, f.HasSpans && len(f.Profiled) > 0,
		fmt.Sprintf("Spans have service.name %s, CPU profiles %s. Tools other than this page join them by that name.", list(f.Service), list(f.Profiled...)),
		"Give profiler.WithResource the resource of the tracer provider. Without the option inprocess.Start uses it by default.")
	check("service-unnamed", Note, never, f.HasSpans && (f.Service == "" || strings.HasPrefix(f.Service, "unknown_service")),
		fmt.Sprintf("The resource of the spans names no service: service.name is %s.", list(f.Service)),
		"Set OTEL_SERVICE_NAME, or give sdktrace.WithResource a resource with service.name.")
	check("store-too-small", Note, never, s.WindowsReceived >= 20 && s.Windows <= 8 && s.WindowsEvicted > 0,
		fmt.Sprintf("The store has space for %s: of %d received, %d were evicted.", count(s.Windows, "window"), s.WindowsReceived, s.WindowsEvicted),
		"Raise WithMaxBytes; profiles use three quarters of it.")

	slices.SortStableFunc(findings, func(a, b Finding) int { return strings.Compare(b.Severity, a.Severity) })
	return findings, number
}
