// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/grafana/pyroscope-go/godeltaprof"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/goruntime"
)

// schedule is the grid on which windows end, unless Flush ends them. It does not drift with
// the time that closing takes.
type schedule struct {
	// begin is a point of the grid before the first window. It is random, so that programs
	// that start together do not export together.
	begin  time.Time
	window time.Duration
	passed uint64 // how many points had passed at the last call of over
}

// left returns the time until the next end. After a Flush a remainder of less than a tenth of
// a window makes no window: the window continues to the end after it.
func (s *schedule) left() time.Duration {
	left := s.window - time.Since(s.begin)%s.window
	if left < s.window/10 {
		left += s.window
	}
	return left
}

// over returns how many ends have passed since its last call.
func (s *schedule) over() uint64 {
	passed := uint64(time.Since(s.begin) / s.window)
	over := passed - s.passed
	s.passed = passed
	return over
}

// newStreams returns a stream for each kind. The CPU is last, because a call of runtime/pprof
// may have to wait.
func (p *Profiler) newStreams() (streams []*stream) {
	second := func() time.Duration { return time.Second }
	for _, k := range known {
		s := &stream{kind: k, apart: second}
		switch k {
		case exporter.KindHeap:
			s.sampler = &delta{kind: k, profiler: godeltaprof.NewHeapProfiler()}
		case exporter.KindMutex:
			s.sampler = &delta{kind: k, profiler: godeltaprof.NewMutexProfiler()}
		case exporter.KindBlock:
			s.sampler = &delta{kind: k, profiler: godeltaprof.NewBlockProfiler()}
		case exporter.KindGoroutine:
			s.sampler = goroutines{}
		case exporter.KindWall:
			s.sampler = p.wall
		case exporter.KindCPU:
			s.sampler, s.apart = p.cpu, p.cpu.apart
		}
		if slices.Contains(p.config.kinds, k) {
			streams = append(streams, s)
		}
	}
	return streams
}

// stream returns the stream of a measured kind. The loop calls it.
func (p *Profiler) stream(k exporter.Kind) *stream {
	return p.streams[slices.IndexFunc(p.streams, func(s *stream) bool { return s.kind == k })]
}

// loop owns the streams. It closes opened when the first windows are open.
func (p *Profiler) loop(opened chan<- struct{}) {
	defer close(p.done)
	// A goroutine inherits the labels of its creator, and so does the goroutine that
	// runtime/pprof starts for each CPU profile. Neither works for a span.
	goruntime.ClearLabels()

	p.streams = p.newStreams()
	cpu := slices.Contains(p.config.kinds, exporter.KindCPU)
	if cpu {
		measuringCPU.Add(1)
		defer measuringCPU.Add(-1)
	}
	for _, s := range p.streams {
		p.report(s.start())
	}
	p.schedule = schedule{begin: time.Now().Add(-p.config.phase(p.config.window)), window: p.config.window}
	p.due = time.Now().Add(p.schedule.left())
	timer := time.NewTimer(p.next())
	defer timer.Stop()
	p.publish()
	close(opened)
	var late []chan struct{} // Flushes that wait until runtime/pprof lets us close the CPU window
	for {
		select {
		case <-timer.C:
			p.tick()
		case rotated := <-p.flushes:
			late = append(late, rotated)
			p.end(sampler.rotate)
		case r := <-p.cpu.pending:
			p.report(p.stream(exporter.KindCPU).cut(func(sampler) (*exporter.Profile, error) { return p.cpu.adopt(r) }))
			if len(late) > 0 {
				p.end(sampler.rotate)
			}
		case <-p.cpu.lost():
			p.report(p.cpu.notice())
		case <-p.cpu.full():
			p.endStream(p.stream(exporter.KindCPU), sampler.rotate)
		case call := <-p.calls:
			call()
		case <-p.stop:
			p.closing = true
			p.end(sampler.stop)
			for _, s := range p.streams {
				s.release()
			}
			p.publish()
			return
		}
		p.publish()
		if p.cpu.pending == nil {
			for _, rotated := range late {
				close(rotated)
			}
			late = nil
		}
		timer.Reset(p.next())
	}
}

// next returns the time until the end of the windows or of a tap.
func (p *Profiler) next() time.Duration {
	next := p.due
	for _, s := range p.streams {
		if due, ok := s.due(); ok && due.Before(next) {
			next = due
		}
	}
	return time.Until(next)
}

// tick ends what is due.
func (p *Profiler) tick() {
	now := time.Now()
	if !now.Before(p.due) {
		p.end(sampler.rotate)
		return
	}
	for _, s := range p.streams {
		if due, ok := s.due(); ok && !due.After(now) && p.cut(s) {
			return
		}
	}
}

// cut ends a piece of s. If the windows are due soon they all end there; then it returns true.
func (p *Profiler) cut(s *stream) (ended bool) {
	if time.Until(p.due) <= min(s.apart(), p.config.window/10) {
		p.end(sampler.rotate)
		return true
	}
	p.report(s.cut(sampler.rotate))
	return false
}

// end closes the open windows, by sampler.rotate or sampler.stop.
func (p *Profiler) end(by func(sampler) (*exporter.Profile, error)) {
	measured := true
	for _, s := range p.streams {
		measured = p.endStream(s, by) && measured
	}
	if over := p.schedule.over(); !measured {
		p.skipped += over
	}
	p.due = time.Now().Add(p.schedule.left())
}

// endStream closes one window. It returns false if the schedule has the number of lost
// windows, as for CPU.
func (p *Profiler) endStream(s *stream, by func(sampler) (*exporter.Profile, error)) bool {
	windows, err := s.end(by)
	p.report(err)
	switch {
	case errors.Is(err, errNotClosed):
		p.skipped++
	case p.closing:
		p.unclosed.Add(-1)
	}
	for _, w := range windows {
		p.windows++
		// The error would be that Shutdown has given up; the exporter's account has it.
		_ = p.lanes.Export(context.Background(), p.identified(w))
	}
	switch {
	case len(windows) > 0:
		return true
	case s.kind == exporter.KindCPU:
		return false
	default:
		p.skipped++
		return true
	}
}

// identified returns w with the current resource.
func (p *Profiler) identified(w *exporter.Profile) *exporter.Profile {
	r := p.config.resource
	if p.config.resourceNow != nil {
		r = cmp.Or(p.config.resourceNow(), r)
	}
	return w.WithResource(r)
}

func (p *Profiler) report(err error) {
	if err != nil {
		p.reporter.Report(fmt.Errorf("profiler: %w", err))
	}
}
