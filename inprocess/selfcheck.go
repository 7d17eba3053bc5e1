// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/env"
	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/report"
	"github.com/spanprof/spanprof/internal/selfcheck"
	"github.com/spanprof/spanprof/internal/spanlabels"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// SelfCheck looks for what keeps profiles from their spans: a provider that is not wrapped
// or not the global one, a kind without its rate, a second profiler. After Start
// the page and its JSON have the result, and certain mistakes go to otel.Handle, once each.
// A program that puts profiler, store and viewer together
// itself sets the result in the function that it gives viewer.WithStatus:
//
//	viewer.WithStatus(func() viewer.Status {
//		return viewer.Status{Running: true, SelfCheck: inprocess.SelfCheck(tp, prof, st)}
//	})
//
// Each of tp, p and s may be nil, where the program has none.
func SelfCheck(tp TracerProvider, p *profiler.Profiler, s *store.Store) viewer.SelfCheck {
	check, _ := check(tp, p, s)
	return check
}

// check returns what the viewer shows, and the headline of its pages.
func check(tp TracerProvider, p *profiler.Profiler, s *store.Store) (check viewer.SelfCheck, headline string) {
	known := facts(tp, p, s)
	found := selfcheck.Run(known)
	check = viewer.SelfCheck{
		Checks:        selfcheck.Checks,
		Gaps:          selfcheck.Gaps(known),
		SpansStarted:  known.Labels.Sampled + known.Labels.Unsampled,
		SpansSampled:  known.Labels.Sampled,
		CPU:           known.Store.CPU,
		CPUUnlabelled: known.Store.CPU - known.Store.Labelled,
	}
	for _, f := range found {
		check.Findings = append(check.Findings, viewer.Finding{ID: f.ID, Severity: string(f.Severity), Seen: f.Seen, Do: f.Do})
	}
	return check, selfcheck.Headline(found)
}

// spansLong is how long a span may run before it is taken for one that is never ended.
const spansLong = 10 * time.Minute

// facts collects what the checks look at.
func facts(tp TracerProvider, p *profiler.Profiler, s *store.Store) *selfcheck.Facts {
	f := &selfcheck.Facts{Disabled: env.DisabledBy()}
	if isNil(tp) {
		tp = nil
	}
	f.Provider, f.Labels = labels(tp)
	if p != nil {
		profiled(f, p.Status())
	}
	if s != nil {
		kept(f, s)
	}
	return f
}

// profiled enters what the profiler does.
func profiled(f *selfcheck.Facts, s profiler.Status) {
	switch {
	case !s.Disabled:
		f.Disabled = "" // the variable was set later
	case f.Disabled == "":
		f.Disabled = env.Enable // by WithOptIn
	}
	measured := func(k exporter.Kind) bool { return slices.Contains(s.Kinds, k) }
	f.Profiler = selfcheck.Profiler{
		Running:    s.Running,
		NotStarted: s.NotStarted,
		CPU:        measured(exporter.KindCPU),
		Mutex:      measured(exporter.KindMutex),
		Block:      measured(exporter.KindBlock),
		None:       len(s.Kinds) == 0,
		Profilers:  s.Profilers,
		CPUIdle:    s.Running && measured(exporter.KindCPU) && s.CPUStart.IsZero(),
		State:      s.CPU,
		Foreign:    s.CPUForeign,
		Found:      s.CPUForeignFound,
		Stops:      s.CPUForeignStops,
		Fallback:   s.CPUFallback,
		Dropped:    s.CPUSamplesDropped,
		Edges:      s.CPUEdges,
		Unmeasured: s.CPUUnmeasured,
		BlockRate:  s.BlockRate > 0,
		Windows:    s.Windows,
	}
	if f.Profiler.Mutex {
		f.Profiler.MutexFraction = runtime.SetMutexProfileFraction(-1) // reads it
	}
	if f.Profiler.Block {
		f.Profiler.BlockEvents, _ = runtime.BlockProfile(nil)
	}
	if measured(exporter.KindWall) {
		f.Wall = selfcheck.Wall{Measured: true, Rounds: s.Wall.Rounds, Skipped: s.Wall.RoundsSkipped, Goroutines: runtime.NumGoroutine()}
	}
	for _, l := range s.Lanes {
		if l.LastError != nil && l.LastErrorTime.After(l.LastSuccess) {
			f.Failing = append(f.Failing, selfcheck.Failing{Name: l.Name, Why: why(l.LastError)})
		}
	}
}

// maxWhy is how much of an error the head of the page has room for.
const maxWhy = 80

// why returns the first line of an error, cut.
func why(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	if r := []rune(text); len(r) > maxWhy {
		text = string(r[:maxWhy]) + "…"
	}
	return text
}

// kept enters what the store has.
func kept(f *selfcheck.Facts, s *store.Store) {
	stats := s.Stats()
	service, named, others := s.Services()
	f.Spans = selfcheck.Spans{
		Ended:       stats.SpansEnded,
		NotKept:     stats.SpansNotKept,
		Running:     stats.SpansRunning,
		RunningLong: s.RunningFor(spansLong),
		Long:        spansLong,
		Named:       named,
		Service:     service,
		Profiled:    others,
	}
	for _, t := range s.Tracers() {
		f.Spans.Tracers = append(f.Spans.Tracers, selfcheck.Tracer(t))
	}
	f.Store = selfcheck.Store{
		CPU:      stats.CPUTime,
		Labelled: stats.CPUTimeLabelled,
		Windows:  stats.Windows,
		Received: stats.WindowsReceived,
		Evicted:  stats.WindowsEvicted,
		Refused:  stats.WindowsRefused,
		MaxBytes: stats.MaxBytes,
	}
}

// labels returns the facts of tp and of the providers that label spans.
func labels(tp TracerProvider) (p selfcheck.Provider, l selfcheck.Labels) {
	p.Given = tp != nil
	providers := spanlabels.Providers()
	p.Global = global(tp, providers)
	for _, one := range providers {
		if one.Disabled {
			continue
		}
		if one.Wrapper != nil {
			l.Wrappers++
			p.Wrapped = p.Wrapped || same(one.Wrapper, tp)
		}
		sampled, unsampled := one.Spans()
		l.Sampled += sampled
		l.Unsampled += unsampled
		l.NoProfileID = l.NoProfileID || one.NoProfileID
	}
	l.PublicAPI = p.Wrapped && spanlabels.Unknown() != nil
	l.EndsElsewhere = spanlabels.Counts.EndedElsewhere.Load()
	l.NoRoom = spanlabels.Counts.NoRoom.Load()
	l.NamesFull = int(spanlabels.Counts.NamesFull.Load())
	return p, l
}

// global returns which provider is the global one, compared with tp and the wrapped ones.
func global(tp TracerProvider, providers []*spanlabels.Provider) selfcheck.Global {
	now := otel.GetTracerProvider()
	if t := reflect.TypeOf(now); t.Kind() == reflect.Pointer && t.Elem().PkgPath() == "go.opentelemetry.io/otel/internal/global" {
		return selfcheck.GlobalUnset
	}
	for _, p := range providers {
		given := same(p.Wrapper, tp) || same(p.Inner, tp)
		switch {
		case same(p.Inner, now) && given:
			return selfcheck.GlobalInner
		case same(p.Wrapper, now) && given:
			return selfcheck.GlobalGiven
		case same(p.Wrapper, now):
			return selfcheck.GlobalOtherSDK
		}
	}
	if same(now, tp) {
		return selfcheck.GlobalGiven
	}
	if _, ok := now.(*sdktrace.TracerProvider); ok {
		return selfcheck.GlobalOtherSDK
	}
	return selfcheck.GlobalUnknown
}

// same reports whether two providers are one.
func same(a, b any) bool {
	return a != nil && b != nil && reflect.TypeOf(a).Comparable() && a == b
}

// checkEvery is the time between two self-checks for the log.
const checkEvery = 10 * time.Second

// reported has the findings that went to otel.Handle: each once in a process.
var reported selfcheck.Log

// watcher runs the self-checks for the log.
type watcher struct {
	reporter report.Reporter
	once     sync.Once
	stop     chan struct{} // closed by end; nil if nothing is watched
	done     chan struct{} // closed when nothing is watched any more
}

// watch looks every now and then, until Shutdown.
func (p *Profiling) watch(every time.Duration) {
	p.watcher.stop, p.watcher.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(p.watcher.done)
		// It works for no span that may be open at Start.
		goruntime.ClearLabels()
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				p.checkLog()
			case <-p.watcher.stop:
				return
			}
		}
	}()
}

// end returns when nothing is watched any more.
func (w *watcher) end() {
	if w.stop != nil {
		w.once.Do(func() { close(w.stop) })
		<-w.done
	}
}

// checkLog gives otel.Handle what is wrong for certain.
func (p *Profiling) checkLog() {
	for _, err := range reported.News(selfcheck.Run(facts(p.tp, p.profiler, p.store))) {
		p.watcher.reporter.Report(fmt.Errorf("inprocess: %w", err))
	}
}
