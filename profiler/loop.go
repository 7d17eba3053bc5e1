// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/goruntime"
)

// do has the loop, which must have been started, run f between two of its steps.
// It returns ErrShutdown or, while f may still be running, ctx's error.
func (p *Profiler) do(ctx context.Context, f func(*grid)) error {
	ran := make(chan struct{})
	call := func(g *grid) {
		defer close(ran)
		f(g)
	}
	select {
	case p.calls <- call:
	case <-p.done:
		return ErrShutdown
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-ran:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// loop owns the streams. It closes opened when the first windows are open.
func (p *Profiler) loop(opened chan<- struct{}) {
	defer close(p.done)
	defer p.metrics.record(p.counts) // Shutdown may have given up waiting
	// A goroutine inherits the labels of its creator, and so does the one
	// that runtime/pprof starts for each CPU profile. Neither works for
	// the span that happened to be open at Start.
	goruntime.ClearLabels()

	p.mu.Lock()
	kinds := slices.Clone(p.kinds)
	p.mu.Unlock()
	for _, k := range kinds {
		p.open(k)
	}
	g := grid{begin: time.Now().Add(-p.config.phase(p.config.window)), window: p.config.window}
	p.schedule(&g)
	timer := time.NewTimer(p.next())
	defer timer.Stop()
	close(opened)
	var late []chan struct{} // Flushes that wait, at most until the CPU window is closed too
	for {
		select {
		case <-timer.C:
			p.tick(&g)
		case <-p.wake:
			p.mu.Lock()
			rotated := p.pending
			p.pending = nil
			p.mu.Unlock()
			p.end(&g, sampler.rotate)
			late = append(late, rotated)
		case w := <-p.cpu.pending:
			p.adopt(w)
			if len(late) > 0 {
				p.end(&g, sampler.rotate)
			}
		case <-p.cpu.stopped:
			if p.cpu.pending == nil { // or it will be noticed by adopt
				p.report(p.cpu.notice(p.cpu.open))
			}
		case <-p.surprised():
			p.cut(&g, p.cpuRun)
		case <-p.full():
			// Its next window has room for the samples.
			p.endStream(p.cpuRun, sampler.rotate)
		case call := <-p.calls:
			call(&g)
		case <-p.stop:
			p.closing = true
			// An Enable or Disable may have come after Shutdown counted.
			p.unclosed.Store(int64(len(p.streams)))
			p.end(&g, sampler.stop)
			for _, s := range p.streams {
				s.release()
				if s.kind == exporter.KindCPU {
					measuringCPU.Add(-1)
				}
			}
			return
		}
		if p.cpu.pending == nil {
			for _, rotated := range late {
				close(rotated)
			}
			late = nil
		}
		p.metrics.record(p.counts)
		timer.Reset(p.next())
	}
}

// surprised returns what is closed when the samples of the open CPU run cannot be
// read, nil if there is nothing to be done about it.
func (p *Profiler) surprised() <-chan struct{} {
	if !p.cpu.measuring() {
		return nil
	}
	return p.cpu.open.surprised()
}

// full returns what has a token when the open CPU window must end before its time, or samples
// are dropped.
func (p *Profiler) full() <-chan struct{} {
	if !p.cpu.measuring() {
		return nil
	}
	return p.cpu.open.full()
}

// schedule sets when the open windows end.
func (p *Profiler) schedule(g *grid) {
	left := g.left()
	p.mu.Lock()
	p.due = time.Now().Add(left)
	p.mu.Unlock()
}

// next returns the time until something is to be done: the end of the windows,
// of a tap, or of the wait for the CPU profiler.
func (p *Profiler) next() time.Duration {
	next := p.due
	for _, s := range p.streams {
		if due, ok := s.due(); ok && due.Before(next) {
			next = due
		}
	}
	if retry := p.cpu.retry; !retry.IsZero() && retry.Before(next) {
		next = retry
	}
	return time.Until(next)
}

// tick does what next has waited for.
func (p *Profiler) tick(g *grid) {
	now := time.Now()
	if !now.Before(p.due) {
		p.end(g, sampler.rotate)
		return
	}
	for _, s := range p.streams {
		due, ok := s.due()
		switch {
		case ok && !due.After(now):
			if p.cut(g, s) {
				return
			}
		case s.kind == exporter.KindCPU && !p.cpu.retry.IsZero() && !p.cpu.retry.After(now):
			// Nothing runs that the end of the windows could share.
			p.report(s.cut(sampler.rotate))
		}
	}
}

// cut makes an edge in s. Windows that are due anyway soon end there, all of
// them; then it returns true.
func (p *Profiler) cut(g *grid, s *stream) bool {
	if time.Until(p.due) <= min(s.apart(), p.config.window/10) {
		p.end(g, sampler.rotate)
		return true
	}
	p.report(s.cut(sampler.rotate))
	return false
}

// end closes the open windows, by sampler.rotate or sampler.stop.
func (p *Profiler) end(g *grid, by func(sampler) (*exporter.Profile, error)) {
	measured := true
	for _, s := range p.streams {
		measured = p.endStream(s, by) && measured
	}
	if over := g.over(); !measured {
		p.skipped.Add(over)
	}
	p.schedule(g)
}

// adopt takes over a CPU run that has been opened late.
func (p *Profiler) adopt(w *cpuWindow) {
	i := slices.IndexFunc(p.streams, func(s *stream) bool { return s.kind == exporter.KindCPU })
	p.report(p.streams[i].cut(func(sampler) (*exporter.Profile, error) { return p.cpu.adopt(w) }))
}

// endStream closes one window. It returns false if the schedule tells how many
// windows are lost because of it, as is so for the CPU.
func (p *Profiler) endStream(s *stream, by func(sampler) (*exporter.Profile, error)) bool {
	windows, err := s.end(by)
	p.report(err)
	switch {
	case errors.Is(err, errNotClosed):
		p.skipped.Add(1)
	case p.closing:
		p.unclosed.Add(-1)
	}
	for _, w := range windows {
		p.windows.Add(1)
		// The error would be that Shutdown has given up; the lanes count it.
		_ = p.lanes.Export(context.Background(), p.identified(w))
	}
	switch {
	case len(windows) > 0:
		return true
	case s.kind == exporter.KindCPU:
		return false
	default:
		p.skipped.Add(1)
		return true
	}
}

// identified returns w with the resource of now.
func (p *Profiler) identified(w *exporter.Profile) *exporter.Profile {
	if p.config.resourceNow == nil {
		return w
	}
	if r := p.config.resourceNow(); r != nil {
		return w.WithResource(r)
	}
	return w
}

func (p *Profiler) report(err error) {
	if err != nil {
		p.reporter.Report(fmt.Errorf("profiler: %w", err))
	}
}
