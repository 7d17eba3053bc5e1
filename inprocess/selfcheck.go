// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spanprof/spanprof/internal/env"
	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/selfcheck"
	"github.com/spanprof/spanprof/internal/spanlabels"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// check returns the viewer's form of the findings, and the headline of its pages.
func check(f *selfcheck.Facts) (check viewer.SelfCheck, headline string) {
	found, number := selfcheck.Run(f)
	check = viewer.SelfCheck{
		Checks:       number,
		Gaps:         selfcheck.Gaps(f),
		SpansStarted: f.Sampled + f.Unsampled,
		SpansSampled: f.Sampled,
	}
	for _, one := range found {
		check.Findings = append(check.Findings, one.Finding)
	}
	return check, selfcheck.Headline(found)
}

// facts collects the facts for the checks.
func (p *Profiling) facts() *selfcheck.Facts {
	f := &selfcheck.Facts{Profiler: p.profiler.Status(), Store: p.store.Stats(), Tracers: p.store.Tracers(), Goroutines: runtime.NumGoroutine()}
	f.MutexFraction = runtime.SetMutexProfileFraction(-1) // reads it
	f.BlockEvents, _ = runtime.BlockProfile(nil)
	f.Service, f.HasSpans, f.Profiled = p.store.Services()
	if off := env.DisabledBy(); f.Profiler.Disabled && off != "" {
		f.Off = fmt.Sprintf("Profiling is disabled by %s=true in the environment.", off)
	} else if f.Profiler.Disabled {
		f.Off = "Profiling is off: the program uses WithOptIn, and the environment lacks " + env.Enable + "=true."
	}
	labels(f)
	if f.Store.SpansRunning > 0 {
		since := time.Now().Add(-selfcheck.Long).UnixNano()
		for _, r := range spanlabels.Running() {
			if r.Start > 0 && r.Start <= since { // spans from before the profiler have no age
				f.RunningLong++
			}
		}
	}
	if p.tp != nil {
		f.Given = true
		provider(f, p.tp, otel.GetTracerProvider())
	}
	f.Lost = p.spans.lost(f.Store.SpansEnded, f.Sampled)
	return f
}

// labels collects the facts of package spanlabels.
func labels(f *selfcheck.Facts) {
	for _, p := range spanlabels.Providers() {
		if p.Disabled {
			continue
		}
		if p.Wrapper != nil {
			f.Wrappers++
		}
		sampled, unsampled := p.Spans()
		f.Sampled += sampled
		f.Unsampled += unsampled
		f.NoProfileID = f.NoProfileID || p.NoProfileID
		f.PublicAPI = goruntime.Unknown() != nil
	}
	counts := &spanlabels.Counts
	f.NamesFull = counts.NamesFull.Load()
	f.EndedElsewhere, f.Wiped, f.NoRoom = counts.EndedElsewhere.Load(), counts.Wiped.Load(), counts.NoRoom.Load()
}

// provider compares the given provider with the global one. It compares pointers only: a
// provider of another make may not be comparable.
func provider(f *selfcheck.Facts, given TracerProvider, global trace.TracerProvider) {
	sdk, isSDK := global.(*sdktrace.TracerProvider)
	t := reflect.TypeOf(global)
	unset := t.Kind() == reflect.Pointer && t.Elem().PkgPath() == "go.opentelemetry.io/otel/internal/global"
	f.Apart = unset || isSDK && any(given) != any(sdk)
	for _, p := range spanlabels.Providers() {
		if p.Wrapper == nil {
			continue
		}
		inner, _ := p.Inner.(*sdktrace.TracerProvider)
		isGiven := any(given) == any(p.Wrapper) || inner != nil && any(given) == any(inner)
		_, noOp := p.Inner.(noop.TracerProvider)
		f.NoOp = f.NoOp || isGiven && noOp
		switch {
		case isGiven && isSDK && inner == sdk:
			f.Inner, f.Apart = true, false
		case any(p.Wrapper) == any(global):
			f.Apart = !isGiven
		}
	}
}

// recorder is the store's span processor. It notes the shutdown of its provider.
type recorder struct {
	sdktrace.SpanProcessor
	store *store.Store

	mu      sync.Mutex
	shut    bool
	ended   int64  // spans in the store, at the shutdown or at the last recorded one since
	sampled uint64 // about how many spans had started then
}

// Shutdown is called when the provider shuts down.
func (r *recorder) Shutdown(ctx context.Context) error {
	var f selfcheck.Facts
	labels(&f)
	r.mu.Lock()
	r.shut, r.ended, r.sampled = true, r.store.Stats().SpansEnded, f.Sampled
	r.mu.Unlock()
	return r.SpanProcessor.Shutdown(ctx)
}

// lost returns about how many spans started since the shutdown. It returns 0 if the store
// records spans again: those that end meanwhile, or of a new provider with the store's
// processor.
func (r *recorder) lost(ended int64, sampled uint64) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ended != r.ended || sampled < r.sampled { // a collected provider does not count
		r.ended, r.sampled = ended, sampled
	}
	if !r.shut {
		return 0
	}
	return sampled - r.sampled
}

// checkEvery is the time between two self-checks for the log.
const checkEvery = 10 * time.Second

// logged has the findings that went to otel.Handle: each once in a process.
var logged selfcheck.Log

// watch runs a self-check for the log at every interval, until the function that it
// returns is called.
func (p *Profiling) watch(every time.Duration) (end func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		goruntime.ClearLabels() // of a span that is open at Start
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				p.checkLog()
			case <-stop:
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(stop); <-done })
}

// checkLog gives new certain mistakes to otel.Handle.
func (p *Profiling) checkLog() {
	found, _ := selfcheck.Run(p.facts())
	for _, err := range logged.News(found) {
		p.reporter.Report(fmt.Errorf("inprocess: %w", err))
	}
}
