// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"os"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/report"
	"github.com/spanprof/spanprof/internal/selfcheck"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// TracerProvider is what Start needs of a tracer provider: the place to
// register a span processor. *spanprof.TracerProvider and
// *sdktrace.TracerProvider have it.
type TracerProvider interface {
	RegisterSpanProcessor(sdktrace.SpanProcessor)
	UnregisterSpanProcessor(sdktrace.SpanProcessor)
}

// Profiling is a running profiler with its store and its viewer. It is safe for concurrent use.
// Handler, Flush, WriteReport and Shutdown of a nil Profiling do nothing: a program may go on
// after an error of Start.
type Profiling struct {
	tp         TracerProvider // nil without one
	store      *store.Store
	profiler   *profiler.Profiler
	handler    http.Handler
	reporter   report.Reporter
	endWatch   context.CancelFunc
	reportPath string // of the report of Shutdown, "" for none
	shut       atomic.Bool

	mu       sync.Mutex
	counters []iter.Seq2[string, uint64] // of AddCounters
}

// Start profiles CPU, heap and wall time. It keeps the newest profiles and the spans of tp
// in memory. tp may be nil in a program without OpenTelemetry, for work
// with profile_id labels of its own.
//
// A process has one CPU profiler, so one call to Start is enough: a second Start gets no
// CPU samples until the first is shut down, which its page reports.
// The program's own pprof.StartCPUProfile fails until then.
//
// It returns an error if an option cannot be met. If the environment has
// OTEL_SDK_DISABLED=true or SPANPROF_DISABLED=true nothing is profiled, and the page shows
// why. See also [WithOptIn].
func Start(tp TracerProvider, opts ...Option) (*Profiling, error) {
	if report.IsNil(tp) {
		if tp != nil {
			otel.Handle(fmt.Errorf("inprocess: Start: the tracer provider is a nil %T; spans are not recorded", tp))
		}
		tp = nil
	}
	c := newConfig(opts)
	s, err := store.New(c.store...)
	if err != nil {
		return nil, failed(err, exporter.NewMulti(c.exporters...))
	}
	// First, so that WithResource counts.
	c.profiler = append([]profiler.Option{profiler.WithResourceFunc(s.SpanResource)}, c.profiler...)
	exp := exporter.NewMulti(append([]exporter.Exporter{s}, c.exporters...)...)
	prof, err := profiler.New(exp, c.profiler...)
	if err != nil {
		return nil, failed(err, exp)
	}
	p := &Profiling{tp: tp, store: s, profiler: prof, endWatch: func() {}}
	p.handler = viewer.Handler(s, append(c.viewer,
		viewer.WithFlush(p.flushPage),
		viewer.WithRunning(running),
		viewer.WithLeaks(leaks()),
		viewer.WithStatus(p.status))...)
	if prof.Status().Running {
		if tp != nil {
			tp.RegisterSpanProcessor(s.SpanProcessor())
		}
		ctx, end := context.WithCancel(context.Background())
		var watch sync.WaitGroup
		watch.Go(func() { p.watch(ctx) })
		p.endWatch = func() { end(); watch.Wait() }
		p.reportPath = os.Getenv(reportVariable)
	}
	return p, nil
}

// maxFailure is how long an exporter may take to shut down where Start fails. It has
// nothing of this process to deliver.
const maxFailure = time.Second

// failed returns why Start fails, after what it made or was given is shut down.
func failed(err error, made interface{ Shutdown(context.Context) error }) error {
	ctx, cancel := context.WithTimeout(context.Background(), maxFailure)
	defer cancel()
	return errors.Join(fmt.Errorf("inprocess: %w", err), made.Shutdown(ctx))
}

// Handler returns the page, to be mounted under a path that ends in a slash. It
// stays readable after Shutdown.
func (p *Profiling) Handler() http.Handler {
	if p == nil {
		return http.NotFoundHandler()
	}
	return p.handler
}

// Store returns the spans and profiles kept.
func (p *Profiling) Store() *store.Store { return p.store }

// Profiler returns the running profiler. Its Status has what was lost, and its Profile takes a
// profile of your own. Package profhttp makes a handler of it. Shutdown shuts it down.
func (p *Profiling) Profiler() *profiler.Profiler { return p.profiler }

// AddCounters shows further numbers on the page, such as the counters of a receiver of
// an eBPF agent's samples. Each request for the page's data calls more, several requests
// concurrently. Nil adds nothing.
func (p *Profiling) AddCounters(more iter.Seq2[string, uint64]) {
	if more == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counters = append(slices.Clip(p.counters), more)
}

// Flush closes the open windows. It returns when the store and every other destination have
// taken or lost their samples, or when ctx ends. The error names the destinations that lost
// profiles or have not taken them yet.
func (p *Profiling) Flush(ctx context.Context) error {
	if p == nil {
		return nil
	}
	return p.profiler.Flush(ctx)
}

// maxPageFlush is how long the page's flush button may take.
const maxPageFlush = 10 * time.Second

// flushPage does not wait for an exporter as long as that may take: what the page
// shows is in the store before.
func (p *Profiling) flushPage(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, maxPageFlush)
	defer cancel()
	err := p.Flush(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("not done within %v: an exporter or another CPU profile takes longer; the page shows what has come", maxPageFlush)
	}
	return err
}

// Shutdown takes the last samples into the store, ends profiling and stops
// recording spans, by the end of ctx. The tracer provider may be shut down
// before or after. Calls after the first do nothing.
//
// If the environment has SPANPROF_REPORT, Shutdown also writes the report of [Profiling.WriteReport]
// to that file, with mode 0600. An error is returned.
func (p *Profiling) Shutdown(ctx context.Context) error {
	if p == nil || p.shut.Swap(true) {
		return nil
	}
	p.endWatch()
	p.checkLog()
	err := p.profiler.Shutdown(ctx)
	if p.tp != nil {
		p.tp.UnregisterSpanProcessor(p.store.SpanProcessor())
	}
	p.reporter.Wait(ctx)
	return errors.Join(err, p.writeReportFile(ctx))
}

// status returns the profiler's state for the viewer.
func (p *Profiling) status() viewer.Status {
	s := p.profiler.Status()
	v := viewer.Status{Running: s.Running, WindowEnd: s.CPUEnd}
	count := func(name string, n uint64, unit string) {
		v.Counters = append(v.Counters, viewer.Counter{Name: name, Value: n, Unit: unit})
	}
	count("windows measured", s.Windows, "")
	count("windows skipped", s.WindowsSkipped, "")
	count("CPU profiles of others, and stops by others", s.CPUForeign, "")
	for _, lane := range s.Lanes {
		count(lane.Name+": exported", lane.Exported, "")
		for _, reason := range slices.Sorted(maps.Keys(lane.Lost)) { // without losses of 0
			count(lane.Name+": "+reason, lane.Lost[reason], "")
		}
		count(lane.Name+": waiting", uint64(lane.Waiting), "")
		count(lane.Name+": waiting, size", uint64(lane.Bytes), "bytes")
	}
	if slices.Contains(s.Kinds, exporter.KindWall) {
		count("wall rounds", s.Wall.Rounds, "")
		count("wall rounds skipped for the budget", s.Wall.RoundsSkipped, "")
		count("wall time between rounds that is in no profile", uint64(s.Wall.Unwatched), "nanoseconds")
		count("wall samples dropped", s.Wall.SamplesDropped, "")
		count("CPU for wall samples", uint64(s.Wall.CPU), "nanoseconds")
	}
	if d := p.store.Stats().Directory; d.Path != "" {
		count("directory: files written", uint64(d.FilesWritten), "")
		count("directory: size", uint64(d.Bytes), "bytes")
		count("directory: files that could not be written", uint64(d.WriteFailures), "")
		count("directory: files that could not be read", uint64(d.FilesUnreadable), "")
		count("directory: segments removed for newer ones", uint64(d.SegmentsRemoved), "")
		count("directory: windows without room in memory", uint64(d.WindowsLeftOut), "")
		count("directory: spans without room in memory", uint64(d.SpansLeftOut), "")
	}
	p.mu.Lock()
	added := p.counters
	p.mu.Unlock()
	for _, counters := range added {
		for name, n := range counters {
			count(name, n, "")
		}
	}
	v.SelfCheck, v.Message = selfcheck.Page(p.facts())
	return v
}

// leaks returns the function that writes the leaked goroutines, nil if this Go version lacks it.
func leaks() func(io.Writer) error {
	p := pprof.Lookup("goroutineleak")
	if p == nil {
		return nil
	}
	return func(w io.Writer) error { return p.WriteTo(w, 0) }
}

// running returns what runs now, for the viewer.
func running() (all []viewer.Running) {
	for _, r := range profiler.Running() {
		root := viewer.Running{ID: r.ID, TraceID: r.TraceID, Name: r.Name, Start: r.Start}
		for _, s := range r.Stacks {
			root.Stacks = append(root.Stacks, viewer.RunningStack(s))
		}
		all = append(all, root)
	}
	return all
}

// checkEvery is the time between two self-checks for the log.
const checkEvery = 10 * time.Second

// facts collects what the self-check needs.
func (p *Profiling) facts() *selfcheck.Facts {
	return selfcheck.Collect(p.profiler, p.store, p.tp != nil)
}

// watch runs a self-check for the log now and then until ctx ends.
func (p *Profiling) watch(ctx context.Context) {
	goruntime.ClearLabels() // of a span that is open at Start
	for ticker := time.NewTicker(checkEvery); ; {
		select {
		case <-ticker.C:
			p.checkLog()
		case <-ctx.Done():
			ticker.Stop()
			return
		}
	}
}

// checkLog gives new certain mistakes to otel.Handle.
func (p *Profiling) checkLog() {
	for _, err := range selfcheck.News(p.facts()) {
		p.reporter.Report(fmt.Errorf("inprocess: %w", err))
	}
}
